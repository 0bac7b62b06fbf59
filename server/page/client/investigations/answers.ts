/** What the server answers about investigations, as far as the page reads it. */

export type InvestigationVerdict = "cause" | "unsure" | "nothing";

export interface ShownEvidence {
  id: string;
  sentence: string;
  query: string;
  at?: number;
  message?: string;
  rowId?: string;
  traceId?: string;
}

export interface ShownSuspect {
  service: string;
  kind: string;
  /** From 0 to 1. */
  confidence: number;
  pod?: string;
  node?: string;
  operation?: string;
  caller?: string;
  evidence: ShownEvidence[];
}

export interface ShownStep {
  sentence: string;
  query?: string;
}

export interface TimelineEntry {
  at: number;
  sentence: string;
  service?: string;
}

interface InvestigatedFire {
  fireId: string;
  alertId: string;
  alertName: string;
  rule: string;
  labels: Record<string, string>;
  firedAt: number;
}

export interface Feedback {
  verdict: "right" | "wrong";
  cause?: string;
}

/** Times are Unix ms. */
interface InvestigationHead {
  id: string;
  status: string;
  startTime: number;
  endTime: number;
  createdAt: number;
  by: string | null;
  traceId: string | null;
  query: string | null;
  fires: InvestigatedFire[];
  problem: string | null;
  feedback: (Feedback & { by: string; at: number }) | null;
}

export interface ListedInvestigation extends InvestigationHead {
  verdict: InvestigationVerdict | null;
  summary: string | null;
}

/** What a language model asked further. */
export interface AskedQuestion {
  id: string;
  query: string;
  sentence: string;
}

export interface Narrated {
  sentence: string;
  evidence: string[];
}

export interface OpenedInvestigation extends InvestigationHead {
  answer: {
    verdict: InvestigationVerdict;
    summary: string;
    suspects: ShownSuspect[];
    timeline: TimelineEntry[];
    affected: ShownStep[];
    normal: string[];
    nextSteps: ShownStep[];
    read: { spans: number; logs: number; series: number; resources: number };
    ms: number;
    narrative?: Narrated[];
    asked?: AskedQuestion[];
  } | null;
}

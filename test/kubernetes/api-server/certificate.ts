/** Certificates of a throw-away authority, written in DER, so that no program has to be installed for them. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A certificate and its key, as PEM. */
export interface Identity {
  readonly certPem: string;
  readonly keyPem: string;
}

/** A certificate authority that lives as long as the server. */
export interface Authority {
  readonly certPem: string;
  /** A certificate for a server under these names. */
  issueServer(dnsNames: readonly string[], addresses: readonly (readonly number[])[]): Identity;
  /** A certificate for a user and the user's groups. */
  issueClient(user: string, groups: readonly string[]): Identity;
}

const validDays = 3650;

const commonName = [0x55, 0x04, 0x03];
const organisation = [0x55, 0x04, 0x0a];
const basicConstraints = [0x55, 0x1d, 0x13];
const keyUsage = [0x55, 0x1d, 0x0f];
const extendedKeyUsage = [0x55, 0x1d, 0x25];
const subjectAlternativeName = [0x55, 0x1d, 0x11];
const ecdsaWithSha256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const serverAuth = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const clientAuth = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];

/** One DER element: tag, length, content. */
function der(tag: number, ...content: (Uint8Array | readonly number[])[]): Buffer {
  const body = Buffer.concat(content.map((part) => Buffer.from(part)));
  const length = body.length;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

const sequence = (...content: Buffer[]) => der(0x30, ...content);
const set = (...content: Buffer[]) => der(0x31, ...content);
const objectId = (bytes: readonly number[]) => der(0x06, bytes);
const text = (value: string) => der(0x0c, Buffer.from(value));
const octets = (...content: Buffer[]) => der(0x04, ...content);
const algorithm = sequence(objectId(ecdsaWithSha256));

function time(date: Date): Buffer {
  return der(0x18, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`));
}

function distinguishedName(user: string, groups: readonly string[] = []): Buffer {
  const part = (id: readonly number[], value: string) => set(sequence(objectId(id), text(value)));
  return sequence(...groups.map((group) => part(organisation, group)), part(commonName, user));
}

function extension(id: readonly number[], value: Buffer, isCritical = false): Buffer {
  return sequence(objectId(id), ...(isCritical ? [der(0x01, [0xff])] : []), octets(value));
}

function toPem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g)!;
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

interface CertificateRequest {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly signingKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

function makeCertificate({ issuer, subject, publicKey, signingKey, extensions }: CertificateRequest): string {
  const start = new Date(Date.now() - 3_600_000);
  const end = new Date(start.getTime() + validDays * 86_400_000);
  const body = sequence(
    der(0xa0, der(0x02, [2])),
    der(0x02, [0x01, ...randomBytes(12)]),
    algorithm,
    issuer,
    sequence(time(start), time(end)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, signingKey);
  return toPem(sequence(body, algorithm, der(0x03, [0], signature)));
}

/** Makes an authority with a key of its own. */
export function makeAuthority(): Authority {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = distinguishedName("test authority");
  const caExtensions = [
    extension(basicConstraints, sequence(der(0x01, [0xff])), true),
    extension(keyUsage, der(0x03, [1, 0x06]), true),
  ];
  const issue = (subject: Buffer, extensions: readonly Buffer[]): Identity => {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const of = { issuer, subject, publicKey: pair.publicKey, signingKey: privateKey, extensions };
    return {
      certPem: makeCertificate(of),
      keyPem: pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
  };
  const usage = (id: readonly number[]) => extension(extendedKeyUsage, sequence(objectId(id)));
  return {
    certPem: makeCertificate({
      issuer,
      subject: issuer,
      publicKey,
      signingKey: privateKey,
      extensions: caExtensions,
    }),
    issueServer(dnsNames, addresses) {
      const names = [
        ...dnsNames.map((name) => der(0x82, Buffer.from(name))),
        ...addresses.map((address) => der(0x87, address)),
      ];
      return issue(distinguishedName(dnsNames[0]!), [
        usage(serverAuth),
        extension(subjectAlternativeName, sequence(...names)),
      ]);
    },
    issueClient: (user, groups) => issue(distinguishedName(user, groups), [usage(clientAuth)]),
  };
}

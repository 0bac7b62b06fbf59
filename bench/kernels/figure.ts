/** What was measured of the kernels over one kind of vector; sent to the process that started the measurement. */
export interface KernelFigure {
  kind: string;
  vectorBytes: number;
  subjects: {
    name: string;
    rowsPerSecond: number;
    bytesPerSecond: number;
    /** Share of the speed at which the same memory is read in the same rounds. */
    ofRead: number;
  }[];
}

export function formatKernelFigure({ kind, subjects }: KernelFigure): string {
  const head = `\n${kind.padEnd(52)}   G rows/s     GB/s   of read\n`;
  const lines = subjects.map(({ name, rowsPerSecond, bytesPerSecond, ofRead }) => {
    const figures = [
      (rowsPerSecond / 1e9).toFixed(3).padStart(11),
      (bytesPerSecond / 1e9).toFixed(2).padStart(9),
      `${(ofRead * 100).toFixed(0)} %`.padStart(10),
    ];
    return `  ${name.padEnd(50)}${figures.join("")}\n`;
  });
  return head + lines.join("");
}

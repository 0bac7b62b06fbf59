#!/usr/bin/env node
// Plain JavaScript that every Node can read: an older one fails on TypeScript before a line of it could explain why.
const [major, minor] = process.versions.node.split(".").map(Number);
const isNewEnough = major > 23 || (major === 23 && minor >= 6) || (major === 22 && minor >= 18);

if (isNewEnough) {
  await import("./main.ts");
} else {
  const scripts = { start: "npm start", svc: "npm run svc -- …" };
  const command = scripts[process.env.npm_lifecycle_event] ?? ["node", ...process.argv.slice(1)].join(" ");
  console.error(
    `svc needs Node 22.18 or later and this is Node ${process.versions.node}: ` +
      `run it as \`npx -y -p node@22 -- ${command}\``,
  );
  process.exitCode = 1;
}

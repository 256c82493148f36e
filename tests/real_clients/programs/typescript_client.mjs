// Logs in with the TypeScript SDK's OAuth, calls tools, and logs in again without a person once its token has expired.
// Usage: typescript_client.mjs SERVER PASSWORD WORKSPACE CALLS. The browser is fetch(), which fills in the forms.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [server, password, workspace, calls] = process.argv.slice(2);
const redirectUrl = "http://127.0.0.1:43210/callback";

const browser = {
  cookies: new Map(),

  async ask(url, form) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const method = form ? "POST" : "GET";
    const answer = await fetch(url, { method, body: form && new URLSearchParams(form), headers: { cookie }, redirect: "manual" });
    for (const line of answer.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0].split("=");
      this.cookies.set(name, value);
    }
    const next = answer.headers.get("location");
    if (next?.startsWith(redirectUrl)) return { landed: new URL(next) };
    return next ? this.ask(new URL(next, server)) : { page: await answer.text() };
  },

  hidden: (page) => Object.fromEntries([...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map((found) => found.slice(1))),

  async logIn(url) {
    const login = await this.ask(url);
    const consent = await this.ask(new URL("/oauth/login", server), { ...this.hidden(login.page), password });
    const chosen = consent.page.match(new RegExp(`<option value="([^"]*)"[^>]*>${workspace}<`))[1];
    const choice = { workspace: chosen, level: "write", answer: "allow" };
    const { landed, page } = await this.ask(new URL("/oauth/consent", server), { ...this.hidden(consent.page), ...choice });
    if (!landed) throw new Error(page);
    return landed.searchParams.get("code");
  },
};

const kept = { logins: 0 };
const provider = {
  redirectUrl,
  clientMetadata: {
    client_name: "TypeScript SDK",
    redirect_uris: [redirectUrl],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  async redirectToAuthorization(url) {
    kept.logins += 1;
    kept.code = await browser.logIn(url);
  },
};

async function connect() {
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", server), { authProvider: provider });
  const client = new Client({ name: "typescript", version: "1" });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(kept.code);
    return connect();
  }
  return client;
}

let client = await connect();
const { tools } = await client.listTools();
const answers = [];
for (const [name, given] of JSON.parse(calls)) {
  answers.push(await client.callTool({ name, arguments: given }));
  await client.close();
  kept.tokens = { ...kept.tokens, access_token: "expired" };
  client = await connect();
}
await client.close();
console.log(JSON.stringify({ tools, answers, logins: kept.logins }));

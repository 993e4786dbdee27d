// How many requests of a model ended because somebody wanted them to, their clients by leaving.
export async function cancelled(server, model) {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`corral_requests_total{model="${model}",outcome="cancelled"}`));
  return Number(line?.split(" ").at(-1) ?? 0);
}

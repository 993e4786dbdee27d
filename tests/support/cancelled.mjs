// How many requests of a model ended because somebody wanted them to, their clients by leaving; once so many (`ends`) have
// ended in any way: a request leaves the list of requests before it is counted.
export async function cancelled(server, model, ends = 0) {
  for (;;) {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    const counts = [...text.matchAll(/^corral_requests_total\{model="([^"]*)",outcome="(\w+)"\} (\d+)$/gm)].filter((one) => one[1] === model);
    if (counts.reduce((sum, one) => sum + Number(one[3]), 0) >= ends) return Number(counts.find((one) => one[2] === "cancelled")?.[3] ?? 0);
  }
}

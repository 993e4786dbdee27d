// The order in which an engine ends requests. The engine stands still until all requests are under way, and the server's log
// tells the order. So the order does not depend on the speed of this process or of the router.

// Stops the engine of `model` until these requests are under way and `meanwhile()` is over. Resolves to their answers.
export async function standing(get, model, requests, meanwhile = () => {}) {
  const { pid } = (await get("/v1/health")).body.all_models_loaded.find((entry) => entry.model_name === model);
  const underWay = async () => (await get("/v1/requests")).body.requests.filter((request) => request.model === model && request.status === "running");
  let asked;
  process.kill(pid, "SIGSTOP");
  try {
    asked = requests.map(({ send }) => send());
    while ((await underWay()).length < requests.length) await new Promise((resolve) => setTimeout(resolve, 10));
    await meanwhile();
  } finally {
    process.kill(pid, "SIGCONT");
  }
  return Promise.all(asked);
}

// `requests`: [{name, send}]; send() resolves to what Server.json() gives. `get(path)` of somebody who may see all requests.
// Resolves to the answers, in the order of `requests`, and the names in the order in which they ended.
export async function endings(get, model, requests) {
  const answers = await standing(get, model, requests);
  const names = new Map(answers.map(({ headers }, at) => [headers.get("x-request-id"), requests[at].name]));
  // A row is written when the server has seen the end of an answer, which its client may see first.
  for (;;) {
    const rows = (await get("/v1/activity?limit=1000")).body.activity.filter(({ id }) => names.has(id));
    if (rows.length === requests.length) return { answers, order: rows.sort((a, b) => a.number - b.number).map(({ id }) => names.get(id)) };
  }
}

// Requests to the server; a problem becomes an Error with its message, and with the cell where there is one.

export class Problem extends Error {
  constructor(values) {
    super(values.error ?? "the server gave no answer");
    this.place = values.row === undefined ? null : { row: values.row, column: values.column };
  }
}

const recording = document.getElementById("recorded"); // of a page that was written to be shown without a server
const recorded = recording && JSON.parse(recording.textContent);
export const isRecorded = Boolean(recorded);

function playBack(address, body) {
  const answer = recorded[body === undefined ? address : `${address} ${body}`];
  if (answer === undefined) throw new Problem({ error: "That is not in this recording: `foresight serve` can do it." });
  return { json: async () => answer };
}

async function ask(address, options) {
  if (recorded) return playBack(address, options?.body);
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ error: "the server cannot be reached: is `foresight serve` still running?" });
  }
  if (response.ok) return response;
  throw new Problem(await response.json().catch(() => ({})));
}

const post = (address, values, signal) =>
  ask(address, { method: "POST", body: JSON.stringify(values), headers: { "content-type": "application/json" }, signal });

export const getStart = async () => (await ask("api/start")).json();
export const getAgent = async (name) => (await ask(`api/agents/${encodeURIComponent(name)}`)).json();
export const getLevel = async (set, index) => (await ask(`api/levels?set=${encodeURIComponent(set)}&index=${index}`)).json();
export const getEpisode = async (wanted, signal) => (await post("api/episode", wanted, signal)).json();
export const getMaps = async (wanted, signal) => (await post("api/maps", wanted, signal)).json();
export const getNext = async (wanted) => (await post("api/next", wanted)).json();
export const getCheck = async (wanted, signal) => (await post("api/check", wanted, signal)).json();
export const getSolution = async (board) => (await post("api/solve", { board })).json();
export const getGif = async (wanted) => (await post("api/gif", wanted)).blob();

/** The picture of all tiles of an agent's domain. */
export async function getTiles(name) {
  const image = new Image();
  image.src = `api/agents/${encodeURIComponent(name)}/tiles.png`;
  await image.decode();
  return image;
}

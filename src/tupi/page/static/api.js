// Everything that goes over the network: JSON, binary frames, streams of them, and the server's own news.

export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

async function checked(response) {
  if (response.ok) return response;
  throw new Refused(response.status, (await response.text()) || `The server answered ${response.status}.`);
}

export async function getJSON(path) {
  return (await checked(await fetch(path))).json();
}

export async function post(path, words) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(words),
  });
  return (await checked(response)).json();
}

const KINDS = { f4: Float32Array, i4: Int32Array, u1: Uint8Array };

// A frame is its length, the header's length, the header as JSON, and arrays that begin at multiples of four.
export function decode(buffer) {
  const size = new DataView(buffer).getUint32(4, true);
  const facts = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  let position = 8 + size;
  for (const { name, type, length } of facts.arrays) {
    const array = new KINDS[type](buffer, position, length);
    facts[name] = array;
    position += array.byteLength + ((4 - (array.byteLength % 4)) % 4);
  }
  delete facts.arrays;
  return facts;
}

export async function getFrame(path) {
  return decode(await (await checked(await fetch(path))).arrayBuffer());
}

// Calls `onFrame` with each frame of a stream as soon as it is whole.
export async function streamFrames(path, onFrame, signal) {
  const reader = (await checked(await fetch(path, { signal }))).body.getReader();
  let parts = [];
  let have = 0;
  const take = (count) => {
    const taken = new Uint8Array(count);
    let filled = 0;
    while (filled < count) {
      const part = parts[0];
      const some = Math.min(part.length, count - filled);
      taken.set(part.subarray(0, some), filled);
      filled += some;
      if (some === part.length) parts.shift();
      else parts[0] = part.subarray(some);
    }
    have -= count;
    return taken;
  };
  let wanted = 0;
  let front = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    parts.push(value);
    have += value.length;
    for (;;) {
      if (front === null) {
        if (have < 4) break;
        front = take(4);
        wanted = new DataView(front.buffer).getUint32(0, true);
      }
      if (have < wanted - 4) break;
      const whole = new Uint8Array(wanted);
      whole.set(front, 0);
      whole.set(take(wanted - 4), 4);
      front = null;
      onFrame(decode(whole.buffer));
    }
  }
}

// The server's news. `onGone` hears null when the server is back, and words when it is not.
export function listen(onStatus, onGone) {
  let source = null;
  let timer = null;
  const open = () => {
    source = new EventSource("/api/events");
    source.onmessage = (event) => {
      onGone(null);
      onStatus(JSON.parse(event.data));
    };
    source.onopen = () => onGone(null);
    source.onerror = () => {
      source.close();
      clearTimeout(timer);
      timer = setTimeout(probe, 1000);
      onGone("The server does not answer. What was saved is safe. This page goes on as soon as the server is back.");
    };
  };
  const probe = async () => {
    try {
      await getJSON("/api/status");
      open();
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 403) {
        onGone("The server was started again. Open the address that it printed; what was saved is there.");
      }
      timer = setTimeout(probe, 2000);
    }
  };
  open();
}

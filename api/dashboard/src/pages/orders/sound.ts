// Browsers play sound only after the user has clicked or pressed a key on the page.

let context: AudioContext | undefined;
const listeners = new Set<() => void>();

/** Reports whether the browser plays sound on this page. */
export const soundAllowed = () => context?.state === "running";

export function onSoundChange(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Asks the browser to play sound. Must be called while it handles a click or a key. */
export async function allowSound() {
  if (!context) {
    context = new AudioContext();
    context.addEventListener("statechange", () => {
      for (const listener of listeners) listener();
    });
  }
  await context.resume();
}

/** The frequencies in hertz: a chime for a new order, and one for an order that still waits for acceptance. */
const chimes = { order: [880, 1175], reminder: [1175, 880, 1175, 880] };
const noteSeconds = 0.22;

/** Returns the samples of a chime, followed by silence until `seconds` have passed. */
function samples(notes: number[], seconds: number, rate: number) {
  const all = new Float32Array(Math.ceil(Math.max(seconds, (notes.length + 1) * noteSeconds) * rate));
  const length = Math.floor(noteSeconds * 1.6 * rate);
  for (const [n, frequency] of notes.entries()) {
    const start = Math.floor(n * noteSeconds * rate);
    for (let i = 0; i < length; i++) {
      const attack = Math.min(1, i / (0.02 * rate));
      const triangle = (2 / Math.PI) * Math.asin(Math.sin((2 * Math.PI * frequency * i) / rate));
      all[start + i] = (all[start + i] ?? 0) + 0.5 * triangle * attack * Math.exp((-8 * i) / length);
    }
  }
  return all;
}

/**
 * Plays a chime, and again every `repeatSeconds` if that is more than 0. volume is between 0 and 100. The browser
 * repeats it without a timer, which it would slow down in a background tab. Returns a function that ends it. Does
 * nothing if sound is not allowed.
 */
export function ring(kind: keyof typeof chimes, volume: number, repeatSeconds = 0): () => void {
  if (!context || !soundAllowed()) return () => {};
  const content = samples(chimes[kind], repeatSeconds, context.sampleRate);
  const buffer = new AudioBuffer({ length: content.length, sampleRate: context.sampleRate });
  buffer.copyToChannel(content, 0);
  const source = new AudioBufferSourceNode(context, { buffer, loop: repeatSeconds > 0 });
  const gain = new GainNode(context, { gain: volume / 100 });
  source.connect(gain).connect(context.destination);
  source.start();
  return () => source.stop();
}

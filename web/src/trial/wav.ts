// Sound as a WAV file: every server reads it, while the format of recordings needs ffmpeg there.

export const kRate = 16_000; // samples per second; transcription uses these

export function wavOf(samples: Float32Array, rate = kRate): Blob {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at: number, letters: string) => [...letters].forEach((letter, index) => view.setUint8(at + index, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // one channel
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, index) => view.setInt16(44 + 2 * index, Math.max(-1, Math.min(1, sample)) * 0x7fff, true));
  return new Blob([view.buffer], { type: "audio/wav" });
}

// A recording of the browser, as mono WAV.
export async function asWav(recording: Blob): Promise<Blob> {
  const reader = new AudioContext();
  try {
    const sound = await reader.decodeAudioData(await recording.arrayBuffer());
    const mixer = new OfflineAudioContext(1, Math.max(1, Math.ceil(sound.duration * kRate)), kRate);
    const source = mixer.createBufferSource();
    source.buffer = sound;
    source.connect(mixer.destination);
    source.start();
    return wavOf((await mixer.startRendering()).getChannelData(0));
  } finally {
    await reader.close();
  }
}

// Puts a text into the clipboard. False: the browser refuses it (pages of http:// have no clipboard, except on localhost).
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

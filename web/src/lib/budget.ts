// Keeps an open page cheap for the server: what is to be read again is read at most `perMinute` times a minute, and only
// while `may` allows it: then resume(). Calls for the same thing meanwhile become one.
export class Budget {
  private readonly wanted = new Set<string>();
  private readonly spent: number[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ended = false;

  constructor(
    private readonly perMinute: number,
    private readonly read: (what: string) => Promise<void>,
    private readonly may: () => boolean = () => true,
  ) {}

  want(what: string): void {
    this.wanted.add(what);
    this.plan();
  }
  resume(): void {
    this.plan();
  }
  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  private plan(): void {
    if (this.ended || this.timer !== undefined || this.wanted.size === 0 || !this.may()) return;
    const now = Date.now();
    while (this.spent.length > 0 && this.spent[0]! <= now - 60_000) this.spent.shift();
    // A little later, so that the events of one change cost one request.
    const wait = this.spent.length < this.perMinute ? 150 : this.spent[0]! + 60_000 - now;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const [what] = this.wanted;
      if (what === undefined || !this.may()) return;
      this.wanted.delete(what);
      this.spent.push(Date.now());
      void this.read(what).finally(() => this.plan());
    }, wait);
  }
}

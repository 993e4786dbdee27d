// Keeps an open page cheap for the server: what is to be read again is read at most `perMinute` times a minute. Calls for
// the same thing meanwhile become one.
export class Budget {
  private readonly wanted = new Set<string>();
  private readonly spent: number[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ended = false;

  constructor(
    private readonly perMinute: number,
    private readonly read: (what: string) => Promise<void>,
    private readonly clock: () => number = Date.now,
  ) {}

  want(what: string): void {
    this.wanted.add(what);
    this.plan();
  }
  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
  }

  private plan(): void {
    if (this.ended || this.timer !== undefined || this.wanted.size === 0) return;
    const now = this.clock();
    while (this.spent.length > 0 && this.spent[0]! <= now - 60_000) this.spent.shift();
    // A little later, so that the events of one change cost one request.
    const wait = this.spent.length < this.perMinute ? 150 : this.spent[0]! + 60_000 - now;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const [what] = this.wanted;
      if (what === undefined) return;
      this.wanted.delete(what);
      this.spent.push(this.clock());
      void this.read(what).finally(() => this.plan());
    }, wait);
  }
}

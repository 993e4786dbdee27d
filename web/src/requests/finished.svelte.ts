// The rows of finished requests that were read, newest first.
import { ApiError, get } from "../lib/api";
import type { Live } from "../lib/live.svelte";
import { activityPath, filterProblem, newerThan, sinceTime, type Filter } from "./activity";
import type { Activity, Finished } from "./types";

const kFirst = 200, kOlder = 500, kMost = 1000; // rows of one reading; the server allows 1000
const kAtOnce = 10_000; // rows that one press of a button reads
const kBetween = 20_000; // automatic readings
const kOverlap = 2_000; // rows are numbered a little later than they end
const kMostKept = 30_000; // rows of a page that stays open

type Reading = "" | "first" | "newer" | "older" | "all";

export class FinishedList {
  rows = $state.raw<Finished[]>([]);
  prepended = $state(0); // rows that came before those of the first reading
  next = $state<number | undefined>(undefined); // where older rows begin
  known = $state(false);
  reading = $state<Reading>("");
  problem = $state("");
  missing = $state(false); // the server records nothing
  readAt = $state(0);
  lost = $state(0);
  filter = $state.raw<Filter>({ model: "", key: "", status: "", code: "", since: "" });
  private since = 0;
  private turn = 0; // answers of earlier turns are dropped
  private seenEnds = 0;
  private over = false;

  constructor(private readonly live: Live) {}

  end(): void {
    this.over = true;
    this.turn += 1;
  }

  async open(filter: Filter): Promise<void> {
    this.turn += 1;
    this.filter = filter;
    this.rows = [];
    this.prepended = 0;
    this.next = undefined;
    this.known = false;
    this.reading = "";
    this.problem = filterProblem(filter);
    if (this.problem !== "") return;
    this.since = sinceTime(filter.since, this.live.now)!;
    await this.alone("first", () =>
      this.ask(kFirst, undefined, (answer) => {
        this.rows = answer.activity;
        this.next = answer.next;
        this.known = true;
      }),
    );
  }

  // The newest rows. If there are more than one reading gives, the list begins again with them.
  async newer(): Promise<void> {
    if (!this.known) return this.open(this.filter);
    const from = this.rows.length > 0 ? Math.max(this.since, this.rows[0]!.ended - kOverlap) : this.since;
    const take = ({ activity, next }: Activity) => {
      const rows = newerThan(this.rows, activity);
      if (next !== undefined && rows.length === activity.length && rows.length > 0) {
        this.rows = rows;
        this.prepended = 0;
        this.next = next;
      } else if (rows.length > 0) {
        this.rows = [...rows, ...this.rows];
        this.prepended += rows.length;
        // A page that stays open forgets the oldest ones, which the server has.
        if (this.rows.length > kMostKept) {
          this.rows = this.rows.slice(0, kMostKept);
          this.next = this.rows.at(-1)!.number;
        }
      }
    };
    await this.alone("newer", () => this.ask(kMost, undefined, take, from));
  }

  async older(): Promise<void> {
    await this.alone("older", () => this.ask(kOlder, this.next, (answer) => this.append(answer)));
  }

  // Until the end, or `kAtOnce` more rows, or stop().
  async all(): Promise<void> {
    const turn = this.turn;
    const enough = this.rows.length + kAtOnce;
    await this.alone("all", async () => {
      while (this.next !== undefined && this.rows.length < enough && turn === this.turn) {
        if (!(await this.ask(kMost, this.next, (answer) => this.append(answer)))) return;
      }
    });
  }
  stop(): void {
    this.turn += 1;
    this.reading = "";
  }

  // Each second while the newest rows are seen; `ends` counts signs that requests have ended.
  tick(now: number, ends: number): void {
    if (document.hidden || !this.known || this.reading !== "" || this.live.connection !== "live") return;
    if (ends === this.seenEnds || now - this.readAt < kBetween) return;
    this.live.want("activity", async () => {
      if (this.over || document.hidden || this.reading !== "") return;
      this.seenEnds = ends;
      await this.newer();
    });
  }

  private append({ activity, next }: Activity): void {
    this.rows = [...this.rows, ...activity];
    this.next = next;
  }

  private async alone(what: Reading, work: () => Promise<unknown>): Promise<void> {
    if (this.reading !== "") return;
    const turn = this.turn;
    this.reading = what;
    await work();
    if (turn === this.turn) this.reading = "";
  }

  private async ask(limit: number, before: number | undefined, take: (answer: Activity) => void, since = this.since): Promise<boolean> {
    const turn = this.turn;
    try {
      const answer = await get<Activity>(activityPath(this.filter, since, limit, before));
      if (turn !== this.turn) return false;
      take(answer);
      this.readAt = this.live.now;
      this.problem = "";
      this.missing = false;
      // Only admins see how many rows were lost.
      this.live.mayAdmin = answer.lost !== undefined;
      this.lost = answer.lost ?? 0;
      return true;
    } catch (error) {
      if (turn !== this.turn) return false;
      this.problem = (error as Error).message;
      this.missing = error instanceof ApiError && error.status === 404;
      return false;
    }
  }
}

// What the consoles' modules use and the compiler's own libraries do not have.

/** The JSON of an operation's answer. A path that is put together from parts has an answer of any type. */
type Answer<M extends string, P extends string> = string extends P ? any : AnswerOf<P extends `${infer Path}?${string}` ? `${M} ${Path}` : `${M} ${P}`>;

/** Debian's compiler is older than these methods, which all browsers of the last years have. */
interface Array<T> {
  findLast(isWanted: (value: T, index: number, array: T[]) => unknown): T | undefined;
  findLastIndex(isWanted: (value: T, index: number, array: T[]) => unknown): number;
  toReversed(): T[];
  toSorted(compare?: (a: T, b: T) => number): T[];
}

/** An item of a list that an operation answers. */
type Item<P extends string> = Answer<"GET", P> extends (infer I)[] ? I : string extends P ? any : unknown;

/** The attributes of an element, and its listeners: what one takes is known by its name. */
type Attributes = { [E in keyof HTMLElementEventMap as `on${E}`]?: (event: HTMLElementEventMap[E] & { currentTarget: HTMLElement }) => unknown }
  & Record<string, unknown>;

/** A timer of the browser, or none. */
type Timer = number | null;
declare function clearTimeout(timer: Timer | undefined): void;

/** An item of a page that an operation answers. */
type PageItem<P extends string> = Answer<"GET", P> extends { items: (infer I)[] } ? I : string extends P ? any : unknown;

// Save labels: send them in order, and again until the server has acknowledged them. They survive closing the page.

import { post } from "./api.js";

const WAITS = [500, 1000, 2000, 5000];
// The server understood these requests and will refuse them again.
const REFUSALS = [400, 403, 404, 413, 422];

/** Sends the changes of one judge and keeps those that the server has not acknowledged. */
export class Saving {
  /**
   * *prefix* names the labels of this project and judge in the storage of the browser; *onchange* is called whenever a
   * change was added, saved or refused, or could not be sent.
   */
  constructor(prefix, judge, onchange) {
    this.prefix = prefix;
    this.judge = judge;
    this.onchange = onchange;
    this.queue = [];
    this.last = null;
    this.failure = null;
    this.isRunning = false;
  }

  get waiting() {
    return this.queue.length;
  }

  /** Save a label; the promise resolves with the response, and rejects if the server refuses the label. */
  async label(content) {
    this.#keep(content);
    try {
      return await this.#add("labels", { judge: this.judge, ...content });
    } finally {
      if (!this.queue.some(({ body }) => body?.query === content.query && body.item === content.item))
        this.#drop(content);
    }
  }

  /** Take back the label that is the last one when all before are saved. */
  undo() {
    return this.#add("undo", null);
  }

  /** Save the labels that an earlier page could not save; return how many were saved, and the first refusal. */
  async saveLeftovers() {
    const results = await Promise.allSettled(read(this.prefix).map((content) => this.label(content)));
    const rejected = results.filter(({ status }) => status === "rejected");
    return { saved: results.length - rejected.length, refused: rejected[0]?.reason ?? null };
  }

  #add(path, body) {
    return new Promise((resolve, reject) => {
      this.queue.push({ path, body, resolve, reject });
      this.onchange();
      this.#run();
    });
  }

  async #run() {
    if (this.isRunning) return;
    this.isRunning = true;
    let attempt = 0;
    while (this.queue.length) {
      const change = this.queue[0];
      // The label to take back is named, so that a request that is sent twice takes back one label only.
      change.body ??= { judge: this.judge, event: this.last?.event ?? null };
      try {
        const response = await post(`judging/${change.path}`, change.body);
        this.last = response.last;
        this.#remove();
        change.resolve(response);
        attempt = 0;
      } catch (error) {
        if (REFUSALS.includes(error.status)) {
          this.#remove();
          change.reject(error);
        } else {
          this.failure = error;
          this.onchange();
          const wait = WAITS[Math.min(attempt++, WAITS.length - 1)];
          await new Promise((resolve) => setTimeout(resolve, wait));
        }
      }
    }
    this.isRunning = false;
  }

  #remove() {
    this.queue.shift();
    this.failure = null;
    this.onchange();
  }

  // Each label has its own entry, so that two tabs do not overwrite each other's.
  #keep(content) {
    try {
      localStorage.setItem(this.#name(content), JSON.stringify({ ...content, kept: Date.now() }));
    } catch {
      // Without storage, the page asks before it is closed with unsaved labels.
    }
  }

  #drop(content) {
    try {
      localStorage.removeItem(this.#name(content));
    } catch {
      // There is no storage.
    }
  }

  #name({ query, item }) {
    return this.prefix + JSON.stringify([query, item]);
  }
}

/** Return the labels that are kept under *prefix*, the oldest first. */
function read(prefix) {
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(prefix))
      .map((name) => JSON.parse(localStorage.getItem(name)))
      .sort((a, b) => a.kept - b.kept)
      .map(({ query, item, grade, seconds }) => ({ query, item, grade, seconds }));
  } catch {
    return [];
  }
}

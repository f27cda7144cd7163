/* Browsers start no worker on a page that was opened from a folder. There the search's script runs
   in a hidden frame instead, which gets and sends the same messages. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.deliver = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = url;
      this.ready = new Promise((loaded) => script.addEventListener("load", loaded));
      inside.document.body.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.deliver(data));
    }
  };
}

// Search from file://: browsers start no worker there, so the search script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        this.onmessage?.(event)
      }
      const load = source => new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.src = source
        script.async = false
        script.onload = resolve
        script.onerror = reject
        inside.document.body.append(script)
      })
      inside.importScripts = (...sources) => Promise.all(sources.map(load))
      this.inside = inside
      this.ready = load(url)
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
}

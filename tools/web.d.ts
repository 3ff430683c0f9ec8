// What the type checker cannot see in the pages: `tsc -p tools` checks them, tests/browser/test_javascript.py runs it.
declare module "three"; // cut down by three_bundle.py, without its types

interface Window { studio: any; live: any; player: any; unpacked: any }
interface EventTarget { value: any; tagName: string; closest: any } // of events on elements
interface MediaRecorder { cancel: () => void }

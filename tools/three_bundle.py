"""Make src/dalembert/view/web/three.js: three.js (MIT) cut down to what stage.js uses, by npm and esbuild.

The made file is kept with the source, and its licence beside it. Run this after a change of three_entry.js or VERSION.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
WEB = ROOT / "src" / "dalembert" / "view" / "web"
WORK = ROOT / "build" / "three"
VERSION, ESBUILD = "0.187.0", "0.25"


def main() -> None:
    """Install three.js and esbuild under build/three, bundle, and copy the licence."""
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--silent", f"three@{VERSION}", f"esbuild@{ESBUILD}"], cwd=WORK, check=True)
    shutil.copy(ROOT / "tools" / "three_entry.js", WORK / "entry.js")
    banner = f"/* three.js {VERSION}, MIT, see three.LICENSE; made by tools/three_bundle.py */"
    subprocess.run(
        ["npx", "esbuild", "entry.js", "--bundle", "--minify", "--format=esm", "--legal-comments=none",
         "--target=es2022", f"--banner:js={banner}", f"--outfile={WEB / 'three.js'}"], cwd=WORK, check=True,
    )  # fmt: skip
    shutil.copy(WORK / "node_modules" / "three" / "LICENSE", WEB / "three.LICENSE")


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# Sets up everything `make run` and `make test` need, from a fresh clone on a Debian with python3 alone.
#
#   scripts/setup.sh           what is needed to run
#   scripts/setup.sh --test    that, and what only the tests use (browser, database server)
#
# What is needed comes from the committed locks, into environments inside this folder. Operating system packages only
# improve the result: they are installed where this user may do that, otherwise one line each says what is missing
# and what it costs. Where nothing has changed since the last time it ends at once. pip and uv find their registries
# as they are configured on this machine; nothing here overrides that.
set -euo pipefail
cd "$(dirname "$0")/.."

UV_VERSION=0.13.9                       # the version the locks were tried with; replace it together with them
STATE=.local/setup                      # stamps; `make clean` removes them
WANT_TEST=no
[ "${1:-}" = "--test" ] && WANT_TEST=yes

say() { printf '%s\n' "$*"; }
fail() { printf 'set-up: %s\n' "$*" >&2; exit 1; }

# --- may this user install operating system packages? ------------------------------------------------------------
APT=none
if command -v apt-get >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then APT=direct
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then APT=sudo
    fi
fi

apt_get() {
    local log=$STATE/apt.log
    mkdir -p "$STATE"
    if [ "$APT" = direct ]; then env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@"
    else sudo -n env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@"
    fi >>"$log" 2>&1 </dev/null
}

apt_install() {  # 0 when every named package is installed afterwards
    [ "$APT" = none ] && return 1
    # The package lists of a fresh image are empty: refresh them once, when the first try finds nothing.
    apt_get install --no-install-recommends "$@" && return 0
    apt_get update || true
    apt_get install --no-install-recommends "$@"
}

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# --- nothing to do? ----------------------------------------------------------------------------------------------
LOCKS=(uv.lock scripts/setup.sh)
LOCKS+=(infra/local/requirements.txt)
STAMP="$(cat "${LOCKS[@]}" | sha256sum | cut -d' ' -f1) test=$WANT_TEST apt=$APT at=$PWD"
STAMP_FILE=$STATE/done-$WANT_TEST
if [ -f "$STAMP_FILE" ] && [ "$(cat "$STAMP_FILE")" = "$STAMP" ] && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi
mkdir -p "$STATE"

# --- a Python that the locks allow -------------------------------------------------------------------------------
PYTHON=
for candidate in "${PYTHON3:-}" python3 python3.11 python3.12 python3.13; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; then
        PYTHON=$("$candidate" -c 'import sys; print(sys.executable)')
        break
    fi
done
[ -n "$PYTHON" ] || fail "needs Python 3.11, 3.12 or 3.13 (Debian: apt-get install python3)"

# --- uv, in an environment of its own (a Debian refuses to install into the system's) -----------------------------
UV=$STATE/uv/bin/uv
if ! [ -x "$UV" ] || [ "$("$UV" --version 2>/dev/null | cut -d' ' -f2)" != "$UV_VERSION" ]; then
    say "set-up: uv $UV_VERSION"
    if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
        package="python$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
        apt_install "$package" || fail "this Python cannot make environments: install the package $package first"
    fi
    rm -rf "$STATE/uv"
    "$PYTHON" -m venv "$STATE/uv"
    "$STATE/uv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION" \
        || fail "pip could not install uv==$UV_VERSION (see above)"
fi

# --- the two locked environments: ours, and the embedded AWS's (it pins another boto) -----------------------------
# This machine's Python, never a downloaded one; hardlinks or copies as the file system allows.
export UV_PYTHON_DOWNLOADS=never UV_PYTHON="$PYTHON" UV_NO_PROGRESS=1
# Where the system has certificates, they are trusted: a machine behind a company's proxy has them there.
[ -s /etc/ssl/certs/ca-certificates.crt ] && export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
unset VIRTUAL_ENV
say "set-up: Python packages from uv.lock"
"$UV" sync --locked --quiet || fail "uv could not install what uv.lock names (see above)"
say "set-up: the embedded AWS from infra/local/requirements.txt"
"$UV" venv --quiet --allow-existing infra/local/.venv || fail "uv could not make infra/local/.venv (see above)"
"$UV" pip sync --quiet --require-hashes --python infra/local/.venv infra/local/requirements.txt \
    || fail "uv could not install what infra/local/requirements.txt names (see above)"

# --- operating system packages that improve the result ------------------------------------------------------------
improve() {  # improve "what is lost without them" package...
    local loss=$1 missing=() name
    shift
    for name in "$@"; do installed "$name" || missing+=("$name"); done
    [ ${#missing[@]} = 0 ] && return 0
    if [ "$APT" != none ]; then
        say "set-up: apt-get install ${missing[*]}"
        apt_install "${missing[@]}" && return 0
    fi
    say "set-up: without ${missing[*]}: $loss"
}

improve "fonts that a PDF names but does not carry are replaced by less similar ones, or not at all" \
    fonts-urw-base35 fonts-liberation
improve "Chinese, Japanese and Korean text without embedded fonts cannot be repaired, and the Chinese sample is left out" \
    fonts-noto-cjk
improve "the Arabic sample is left out" fonts-dejavu-core

# Ghostscript 10.00 to 10.02 damages text that looks the same (Debian 12 has 10.00): only a sound one is installed.
gs_sound() { "$PYTHON" - "$1" <<'PY'
import re, sys
parts = [int(p) for p in re.findall(r"\d+", sys.argv[1].split(":")[-1])[:2]] or [0]
sys.exit(not (parts >= [10, 3] or [9, 50] <= parts < [10, 0]))
PY
}
if command -v gs >/dev/null 2>&1; then
    gs_sound "$(gs --version)" || say "set-up: Ghostscript $(gs --version) is known to damage text and is not used: files are optimized losslessly"
else
    candidate=
    command -v apt-cache >/dev/null 2>&1 && candidate=$(apt-cache policy ghostscript 2>/dev/null | sed -n 's/ *Candidate: //p')
    if [ -n "$candidate" ] && [ "$candidate" != "(none)" ] && gs_sound "$candidate"; then
        improve "files are optimized losslessly" ghostscript
    else
        say "set-up: no sound Ghostscript here (10.03 or later): files are optimized losslessly, and some come out larger"
    fi
fi

if [ "$WANT_TEST" = yes ]; then
    improve "the browser test is skipped" chromium
    if ! command -v postgres >/dev/null 2>&1 && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
        improve "the test of the production configuration is skipped" postgresql
    fi
fi

rm -f "$STATE"/done-*
printf '%s' "$STAMP" >"$STAMP_FILE"
[ "$WANT_TEST" = yes ] && printf '%s' "${STAMP/test=yes/test=no}" >"$STATE/done-no"
say "set-up: done"

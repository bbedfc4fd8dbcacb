#!/usr/bin/env bash
# Fetches the browser files that pages use, in exact versions, with their licences and checksums.
# Needs npm; nothing of it is needed to run or to test Staircase. htmx comes with django-htmx.
set -euo pipefail
cd "$(dirname "$0")/.."
vendor=$PWD/planner/static/vendor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# package, version, folder name, licence, then the files to keep
vendor_package() {
  local package=$1 version=$2 name=$3 licence=$4
  shift 4
  local target="$vendor/$name-$version" unpacked="$work/$name"
  mkdir -p "$target" "$unpacked"
  tar xzf "$work/$(cd "$work" && npm pack --silent "$package@$version")" -C "$unpacked" --strip-components 1
  for file in "$@"; do
    install -m 644 "$unpacked/$file" "$target/$(basename "$file")"
    sed -i '/sourceMappingURL=/d' "$target/$(basename "$file")"  # maps are not kept, and collectstatic looks for them
  done
  {
    printf '\n[[package]]\nname = "%s"\nversion = "%s"\nlicence = "%s"\n\n[package.sha256]\n' "$package" "$version" "$licence"
    (cd "$vendor" && for file in "$@"; do
      path="$name-$version/$(basename "$file")"
      printf '"%s" = "%s"\n' "$path" "$(sha256sum "$path" | cut -d' ' -f1)"
    done)
  } >> "$vendor/VENDORED.toml"
}

mkdir -p "$vendor"
printf '# Written by scripts/vendor_js.sh.\n' > "$vendor/VENDORED.toml"
vendor_package echarts 6.1.0 echarts Apache-2.0 \
  dist/echarts.common.min.js LICENSE NOTICE licenses/LICENSE-d3
vendor_package @fontsource-variable/inter 5.3.0 inter OFL-1.1 \
  files/inter-latin-wght-normal.woff2 LICENSE
vendor_package swagger-ui-dist 5.35.0 swagger-ui Apache-2.0 \
  swagger-ui-bundle.js swagger-ui-bundle.js.LICENSE.txt swagger-ui.css LICENSE NOTICE

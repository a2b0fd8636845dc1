#!/bin/sh
# Makes the archives of a release: sh internal/release.sh [DIR]
#
# For each platform two archives, of the whole program and of the one for owners (tag operator: no plots, no studies), each with a
# bill of materials (CycloneDX) beside it, and SHA256SUMS of all. The same commit and Go version give the same bytes, wherever and
# whenever it is made: make release-check. VERSION, PLATFORMS and SBOM (the tool; "none": leave it out) override the defaults.
# Needs git, GNU tar, gzip and sha256sum.
set -eu
out=${1:-dist}
GO=${GO:-go}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64}
sbom=${SBOM:-$GO run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0}
commit=$(git rev-parse HEAD)
dirty=
[ -z "$(git status --porcelain --untracked-files=no)" ] || dirty=-dirty
version=${VERSION:-$(git describe --tags --match 'v*' --exact-match 2>/dev/null || echo "v0.0.0-$(echo "$commit" | cut -c1-12)")}$dirty
epoch=$(git log -1 --format=%ct)
export CGO_ENABLED=0 GOFLAGS= SOURCE_DATE_EPOCH="$epoch" LC_ALL=C TZ=UTC
umask 022

[ ! -e "$out" ] || { echo "release.sh: $out exists; choose a new folder" >&2; exit 2; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# notices are the licences of what is linked.
notices() {
	$GO list -deps -tags "$1" -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/sotto | sort -u |
		while read -r path v dir; do
			printf '== %s %s\n\n' "$path" "$v"
			for f in "$dir"/LICENSE* "$dir"/LICENCE* "$dir"/COPYING* "$dir"/NOTICE*; do
				[ ! -f "$f" ] || cat "$f"
			done
			echo
		done
}

for platform in $platforms; do
	for kind in sotto sotto-operator; do
		tags=
		[ $kind = sotto ] || tags=operator
		name=${kind}_${version}_$(echo "$platform" | tr / _)
		mkdir "$work/$name"
		GOOS=${platform%/*} GOARCH=${platform#*/} $GO build -trimpath -buildvcs=false -tags "$tags" -o "$work/$name/sotto" \
			-ldflags "-s -w -buildid= -X main.releaseVersion=$version -X main.releaseCommit=$commit$dirty" ./cmd/sotto
		GOOS=${platform%/*} GOARCH=${platform#*/} notices "$tags" >"$work/$name/NOTICES"
		git ls-files -z LICENSE deploy ':(glob)*.md' ':(glob)docs/*.md' ':(glob)docs/*.svg' ':(glob)docs/results/*.md' |
			tar -cf - --null -T - | tar -C "$work/$name" -xf -
		chmod -R u=rwX,go=rX "$work/$name"
		tar -C "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name" |
			gzip -n -9 >"$out/$name.tar.gz"
		[ "$sbom" != none ] || { echo "$name"; continue; }
		$sbom bin -json -noserial -version "$version" -output "$work/bom" "$work/$name/sotto" 2>"$work/log" ||
			{ cat "$work/log" >&2; exit 1; }
		# the commit's time in place of the present one
		sed "s/\"timestamp\": \"[^\"]*\"/\"timestamp\": \"$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)\"/" "$work/bom" >"$out/$name.cdx.json"
		echo "$name"
	done
done
cd "$out"
sha256sum -- * >"$work/sums"
mv "$work/sums" SHA256SUMS

#!/bin/sh
# module.sh NEW renames the module: go.mod, every import, and the modules that need it.
set -eu
new=$1
old=$(sed -n 's/^module //p' go.mod)
case $new in
"" | */ | /* | *//* | *[!A-Za-z0-9._/~-]*)
	echo "make module: PATH: found \"$new\", allowed: a module path such as example.org/you/sotto" >&2
	exit 2
	;;
esac
case ${new%%/*} in
*.*) ;;
*)
	echo "make module: PATH: found \"$new\", allowed: a path whose first element holds a dot, such as example.org/you/sotto" >&2
	exit 2
	;;
esac
quoted=$(printf %s "$old" | sed 's/[.~]/\\&/g')
find . -name '*.go' -not -path './.git/*' | while IFS= read -r f; do
	# Import lines only: an optional name and one quoted path.
	sed "s#^\([[:space:]]*\(import \)\{0,1\}\([A-Za-z_.][A-Za-z0-9_]* \)\{0,1\}\"\)$quoted\(/[^\"]*\"\)\$#\1$new\4#" "$f" >"$f.new"
	if cmp -s "$f" "$f.new"; then rm "$f.new"; else cat "$f.new" >"$f" && rm "$f.new"; fi
done
sed "s#^module $quoted\$#module $new#" go.mod >go.mod.new && cat go.mod.new >go.mod && rm go.mod.new
for m in examples/embed/go.mod examples/library/go.mod examples/peer/go.mod reproduce/campaign/manifest/go.mod; do
	sed "s#^\(require \)\{0,1\}\([[:space:]]*\)$quoted v0.0.0#\1\2$new v0.0.0#; s#^replace $quoted =>#replace $new =>#" $m >$m.new && cat $m.new >$m && rm $m.new
done
echo "module $old is now $new"

# Writes what ctxpack writes for programs, of every kind, into the folder in which it runs: NAME.TEST.json and NAME.TEST.jsonl
# are of the form that `ctxpack schema NAME`, or NAME.jsonl, prints. Run by tests/cli/schemas and scripts/external/schemas.py.
#
# usage: CTXPACK=PROGRAM FIXTURES=FOLDER [WIDE=1] sh outputs.sh      in an empty folder; WIDE: of all fixtures

set -u
unset CI
ctxpack() { "$CTXPACK" "$@"; }
# The exit code is what other tests are about.
quiet() { ctxpack "$@" >/dev/null 2>&1 || :; }
prints() { # FILE ARGUMENTS: what is printed
    printed=$1
    shift
    ctxpack "$@" >"$printed" 2>/dev/null || :
}
fails() { # FILE ARGUMENTS: what is said of errors, and there are some
    said=$1
    shift
    # The table of a run is for people in any case.
    ctxpack --error-format json "$@" 2>&1 >/dev/null </dev/null | grep '^{' >"$said"
}

anthropic=$FIXTURES/anthropic
small=$anthropic/auto-keeps-5-of-all-tools/input.jsonl
ln -s "$FIXTURES" fixtures
if [ -n "${WIDE:-}" ]; then
    cases=$(ls -d "$FIXTURES"/*/*/)
    all=fixtures
else
    cases=$(ls -d "$FIXTURES"/anthropic/auto-a[ns]*/ "$FIXTURES"/anthropic/layered-[rt]*/ "$FIXTURES"/ai-sdk/*/ \
        "$FIXTURES"/anthropic/offload-first-a*/ "$FIXTURES"/claude-code/auto-a-[bf]*/ \
        "$FIXTURES"/claude-code/auto-before-*/)
    all=fixtures/pi
fi

# A tree with what can be met in one.
mkdir -p tree/sub
cp "$small" tree/a.jsonl
gzip -c "$small" >tree/b.jsonl.gz
head -c 300 tree/b.jsonl.gz >tree/cut.jsonl.gz
cp "$FIXTURES/other/sharegpt/input.jsonl" tree/other.jsonl
echo '{"role":"tool","tool_call_id":"x"}' >tree/orphan.jsonl
echo 'not json at all' >tree/odd.jsonl
echo text >tree/notes.txt
echo text >tree/sub/left.jsonl
ln -s nowhere tree/broken
ln -s sub tree/link
mkfifo tree/pipe.jsonl
echo sub/left.jsonl >tree/.ctxpackignore
{ cat "$small"; echo '{"role":"user","content":"aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYzEXAMPLEKEYA1"}'; echo 'oops'; } >tree/secret.jsonl
touch -t 200101010000 tree/old.jsonl

# compact: every preset, original kept beside and in the store, compressed, by limits, from a stream, in lines.
for policy in auto layered offload-first boundary reset turns none; do
    quiet compact tree --policy $policy --out-dir "out-$policy" --report "report.$policy.json" --report "report.$policy.jsonl"
done
quiet compact tree --timings --set summary.when=always --out-dir out-timed --report report.timed.json --report report.timed.jsonl
quiet compact tree --policy none --emit messages --out-dir out-emitted --report report.emitted.json --report report.emitted.jsonl
quiet compact "$all" --set clear.keep=3 --out-dir out-all --report report.all.json --report report.all.jsonl
for folder in $cases; do
    name=$(basename "$(dirname "$folder")")-$(basename "$folder")
    quiet compact "${folder}input.jsonl" --policy "${folder}policy.toml" -o "of/$name.jsonl" --store "stores/$name" \
        --report "report.$name.json" --report "report.$name.jsonl"
done
quiet compact tree --exclude 'a*' --since 2020-01-01 --out-dir out-some --report report.some.json
quiet compact tree --until 2002-01-01 --project nobody --out-dir out-none --report report.none.json
quiet compact "$small" --target 300 -o target.jsonl --report report.target.json
quiet compact "$small" --dry-run --report report.dry.json
quiet compact missing.jsonl "$small" --out-dir out-missing --report report.missing.json
quiet compact tree/secret.jsonl --set redact=secrets -o redacted.jsonl --report report.redacted.json
quiet compact "$small" --files-root tree --summarize always --instructions 'be brief' -o told.jsonl --report report.told.json
cp "$small" place.jsonl
quiet compact place.jsonl --in-place --set clear.keep=2 --report report.place.json
CTXPACK_CLEAR__KEEP=4 quiet compact "$small" -o env.jsonl --report report.env.json
printf 'extends = "auto"\n[clear]\nkeep = 4\n' >own.toml
quiet compact "$small" --policy own.toml --set clear.min_tokens=9 -o own.jsonl --report report.own.json
quiet compact - --report report.stream.json <"$small"
quiet compact fixtures/anthropic/auto-an-aim-gives-way-to-the-users-words/input.jsonl --policy offload-first --set offload.tokens=1 \
    -o - --report report.nostore.json --report report.nostore.jsonl
quiet report merge report.all.json report.auto.json report.some.json -o report.merged.json
quiet report report.merged.json -o report.merged.jsonl

# A tool of a known kind with other arguments than such a tool takes.
cat >declared.jsonl <<'END'
{"role":"user","content":"go"}
{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"deploy","input":{"target":"prod"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"done"}]}
END
quiet compact declared.jsonl --set tools.shell=deploy -o declared-out.jsonl --report report.declared.json --report report.declared.jsonl
quiet stats declared.jsonl --set tools.shell=deploy --report stats.declared.jsonl

# stats
prints stats.all.json stats "$all" --json
prints stats.tree.json stats tree --json --exact
quiet stats tree --timings --report stats.timed.json --report stats.timed.jsonl
quiet stats tree fixtures/pi --set clear.keep=3 --report stats.all.jsonl
for policy in auto layered offload-first boundary; do
    prints stats.$policy.json stats fixtures/codex fixtures/pi --json --policy $policy
done
prints stats.limits.json stats "$small" --json --set clear.min_chars=10 --set target.percent=50
prints stats.since.json stats tree --json --since 2020-01-01 --exclude 'a*'

# replay
prints replay.all.json replay fixtures/replay tree --set clear.keep=3 --json
prints replay.two.json replay fixtures/replay --policy auto --policy layered --policy offload-first --json
quiet replay fixtures/replay tree --timings --report replay.timed.json --report replay.timed.jsonl
quiet replay fixtures/replay tree --set clear.keep=3 --report replay.all.jsonl
for case in "$FIXTURES"/replay/*/policy.toml; do
    folder=${case%/policy.toml}
    prints "replay.$(basename "$folder").json" replay "$folder/input.jsonl" --policy "$case" --json
done

# eval
start=fixtures/claude-code/again-a-native-record-stays/input.jsonl
prints eval.all.json eval fixtures/replay/*/input.jsonl "$start" tree --budget 10 --json
prints eval.two.json eval fixtures/replay/a*/input.jsonl --policy auto --policy reset --budget 10 --json
prints eval.rounds.json eval fixtures/replay/*/input.jsonl tree --rounds 2 --budget 10 --min-tokens 300 --json
quiet eval fixtures/replay/*/input.jsonl tree --rounds 2 --budget 10 --min-tokens 300 --report eval.rounds.jsonl
quiet eval fixtures/replay/a*/input.jsonl tree --timings --budget none --report eval.timed.json --report eval.timed.jsonl
quiet eval fixtures/replay/a*/input.jsonl "$start" tree --budget 10 --report eval.all.jsonl
if [ -n "${WIDE:-}" ]; then prints eval.wide.json eval fixtures --json; fi

# diff: of files, of policies, with and without a report.
for name in auto-keeps-5-of-all-tools auto-a-file-read-again-is-superseded; do
    quiet compact "$anthropic/$name/input.jsonl" --set clear.keep=2 -o "$name.jsonl"
    prints "diff.$name.json" diff "$anthropic/$name/input.jsonl" "$name.jsonl" --json
done
for folder in $cases; do
    name=$(basename "$(dirname "$folder")")-$(basename "$folder")
    quiet diff "${folder}input.jsonl" "${folder}expected.jsonl" --set clear.keep=4 --report "diff.$name.json" --report "diff.$name.jsonl"
done
for pair in 'auto reset' 'layered boundary' 'auto none'; do
    for input in "$FIXTURES"/replay/a*/input.jsonl "$FIXTURES"/claude-code/auto-a-b*/input.jsonl; do
        name=$(echo "$pair" | tr ' ' -)-$(basename "$(dirname "$input")")
        quiet diff --policy "${pair% *}" --policy "${pair#* }" "$input" --report "diff.$name.json" --report "diff.$name.jsonl"
    done
done
quiet diff --policy auto --policy reset "$anthropic/reset-a-compact-call-compacts/input.jsonl" --report diff.added.json --report diff.added.jsonl
prints diff.one.json diff --policy own.toml --set clear.min_tokens=9 "$small" --json
printf 'extends = "auto"\n[summary]\nsource = "anthropic"\nmodel = "m"\n' >asks.toml
quiet diff --policy asks.toml --policy auto "$small" --report diff.asks.json --report diff.asks.jsonl

# check
cp -R "$anthropic/auto-keeps-5-of-all-tools" same
cp -R same changed && echo '{"role":"user","content":"more"}' >>changed/expected.jsonl
cp -R same broken && echo '[[[' >broken/policy.toml
rm same/policy.toml
prints check.some.json check same changed broken --set clear.keep=4 --output-format json
quiet check same changed broken --set clear.keep=4 --report check.some.jsonl
cp -R changed updated
prints check.updated.json check --update updated --output-format json
prints check.all.json check "$all" --output-format json

# verify
prints verify.all.jsonl verify "$all" fixtures/claude-code --json
prints verify.tree.jsonl verify tree --json

# sessions
export HOME="$PWD/home"
work=home/.claude/projects/-work
mkdir -p "$work"
number=10
for input in "$FIXTURES"/claude-code/auto-a-[bf]*/input.jsonl; do
    number=$((number + 1))
    cp "$input" "$work/00000000-0000-4000-8000-0000000000$number.jsonl"
done
cp tree/cut.jsonl.gz "$work/00000000-0000-4000-8000-000000000001.jsonl"
prints sessions.all.json sessions --json --all
prints sessions.some.json sessions --json

# Errors, warnings and notes.
fails error.usage.jsonl compact --nothing
fails error.missing.jsonl compact missing.jsonl tree/a.jsonl --out-dir out-errors
fails error.tree.jsonl compact tree -v --out-dir out-errors-2
fails error.strict.jsonl compact tree/odd.jsonl --strict -o out-errors-3.jsonl
fails error.filter.jsonl compact tree/a.jsonl --since 2020-01-01 -o out-errors-4.jsonl
fails error.config.jsonl compact tree/a.jsonl --set clear.kep=3
fails error.policy.jsonl compact tree/a.jsonl --policy broken/policy.toml
fails error.exists.jsonl compact tree/a.jsonl -o tree/b.jsonl.gz
fails error.empty.jsonl stats out-errors-none
fails error.gate.jsonl compact "$small" --min-savings 99 -o gate.jsonl
fails error.walk.jsonl undo tree
fails error.diff.jsonl diff tree/a.jsonl tree/odd.jsonl
fails error.check.jsonl check same changed broken
fails error.schema.jsonl schema reprt

# Cases
for case in "$FIXTURES"/*/*/expect.toml; do
    if [ -e "$case" ]; then cp "$case" "case.$(basename "$(dirname "$case")").toml"; fi
done
cat >case.own.toml <<'END'
command = "compact"

[expect]
tokens_before = ">= 9k"
messages_before = 12
tokens_after = "<= 30%"
messages_after = "<9_000"
saved = ">= 50.5%"
status = "compacted"
valid = true
findings = ["orphan-result"]
kept = ["text that must still be there"]
gone = ["other text"]
restored = ["src/a.rs"]
last_turns_identical = 2
invented = 0
need = ">= 60"
budget = 20
END

//! Commands as they stand in sessions, and what they may have changed.

use super::*;

fn words(text: &str) -> Option<Vec<Vec<String>>> {
    let all = commands(text)?;
    let words = |command: &Simple| command.words.iter().map(|word| word.text.clone()).collect();
    Some(all.iter().map(words).collect())
}

#[test]
fn a_text_is_taken_apart() {
    for (text, expected) in [
        ("ls -la", vec![vec!["ls", "-la"]]),
        (
            "a && b || c; d | e & f\ng",
            vec![
                vec!["a"],
                vec!["b"],
                vec!["c"],
                vec!["d"],
                vec!["e"],
                vec!["f"],
                vec!["g"],
            ],
        ),
        (
            "echo 'a;b' \"c|d\" e\\ f # g; h",
            vec![vec!["echo", "a;b", "c|d", "e f"]],
        ),
        ("cat < in > out 2>&1 2>/dev/null", vec![vec!["cat"]]),
        (
            "(cd a; make) > log",
            vec![vec!["cd", "a"], vec!["make"], vec![]],
        ),
        (
            "echo $(git log -1)",
            vec![vec!["git", "log", "-1"], vec!["echo", ""]],
        ),
        (
            "cat <<'E' > f\nit's $(rm x)\nE\nls",
            vec![vec!["cat"], vec!["ls"]],
        ),
        (
            "git commit -m \"$(cat <<'EOF'\nIt's (done\nEOF\n)\" && git push",
            vec![
                vec!["cat"],
                vec!["git", "commit", "-m", ""],
                vec!["git", "push"],
            ],
        ),
        ("a \\\n b", vec![vec!["a", "b"]]),
        (
            "for f in a b; do wc $f; done",
            vec![
                vec!["for", "f", "in", "a", "b"],
                vec!["do", "wc", ""],
                vec!["done"],
            ],
        ),
    ] {
        assert_eq!(words(text).unwrap(), expected, "{text}");
    }
    for text in [
        "'a",
        "\"a",
        "echo $(ls",
        "cat <<E\nx",
        "f() { ls; }",
        "echo $(( $(ls) ))",
        "ls >",
        ")",
    ] {
        assert_eq!(words(text), None, "{text}");
    }
    let document = commands("python3 - <<'E'\nprint(1)\nE").unwrap();
    assert_eq!(document[0].document.as_deref(), Some("print(1)\n"));
    let [command] = &commands("x > a 2> b >> c").unwrap()[..] else {
        panic!()
    };
    let outputs: Vec<&str> = command.outputs.iter().map(|word| &word.text[..]).collect();
    assert_eq!(outputs, ["a", "b", "c"]);
}

#[test]
fn what_only_looks_builds_or_tests_changes_nothing() {
    for command in [
        "",
        "ls",
        "cat a | head -3",
        "cd x && git status",
        "git -C /w diff --stat 2>&1",
        "grep -rn x . | sort | uniq -c",
        "find . -name '*.rs' -exec grep -l x {} +",
        "find . | xargs wc -l",
        "sed -n '1,20p' a",
        "cargo test 2>&1 | tail -5",
        "cargo +nightly clippy --all-targets -- -D warnings",
        "cargo fmt --check",
        "npm test",
        "npm run build",
        "bun run typecheck",
        "npx tsc --noEmit",
        "npx eslint src",
        "RUST_LOG=x cargo run",
        "timeout 60 go test ./...",
        "python -m pytest -q",
        "uv run pytest",
        "python3 -c 'import json; print(json.load(open(\"x.json\")))'",
        "python3 - <<'E'\nprint(open('x.json').read())\nE",
        "git add -A && git commit -m 'x (y)'",
        "git commit -m \"$(cat <<'E'\nsays it's `done`\nE\n)\"",
        "for f in a b; do wc -l $f; done",
        "if [ -f a ]; then cat a; fi",
        "ls > /dev/null 2>&1",
        "sleep 5; ps aux | grep x",
        "make test",
        "prettier --check .",
        "gofmt -l .",
        "sh -c 'ls; pwd'",
        "curl -s http://127.0.0.1/x | jq .a",
        "docker ps",
        "source .venv/bin/activate && pytest",
        "git checkout -b new",
        "git reset HEAD a",
        "git stash list",
        "mkdir -p a/b",
        "tar -tf x.tar",
        "docker compose logs app",
        "grep -l x . | xargs grep -il y",
        "awk '$1 > 5' a",
        "./target/release/tool --help",
    ] {
        assert_eq!(effects(command), Effects::Paths(Vec::new()), "{command}");
    }
}

#[test]
fn what_names_its_files_changes_these() {
    for (command, paths) in [
        ("echo x > a", vec!["a"]),
        ("cat > src/p.py <<'E'\nx\nE", vec!["src/p.py"]),
        ("ls | tee -a log", vec!["log"]),
        ("sed -i 's/a/b/' p.py", vec!["s/a/b/", "p.py"]),
        ("sed -i.bak -e s/a/b/ p.py", vec!["s/a/b/", "p.py"]),
        ("rm -rf a b", vec!["a", "b"]),
        ("git checkout -- a", vec!["checkout", "a"]),
        ("gofmt -w a.go", vec!["a.go"]),
        (
            "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a\nE",
            vec!["a"],
        ),
        ("mv a b && ls", vec!["a", "b"]),
        ("dd if=/dev/zero of=x", vec!["x"]),
        ("truncate -s 0 a", vec!["0", "a"]),
    ] {
        let paths = paths.into_iter().map(str::to_owned).collect();
        assert_eq!(effects(command), Effects::Paths(paths), "{command}");
    }
}

#[test]
fn of_others_nothing_is_known() {
    for command in [
        "./run.sh",
        "python3 fix.py",
        "python3 -c \"open('a','w').write('x')\"",
        "node -e 'require(\"fs\").writeFileSync(1)'",
        "perl -pi -e s/a/b/ a",
        "git checkout other",
        "git stash",
        "git pull",
        "git reset --hard",
        "git restore a",
        "git apply x.patch",
        "git rebase main",
        "patch -p1 < x",
        "cargo fmt",
        "cargo clippy --fix --allow-dirty",
        "npx prettier --write .",
        "black src",
        "npm run lint:fix",
        "npm run format",
        "npm install x",
        "make format",
        "find . -name '*.o' -delete",
        "find . -exec sed -i s/a/b/ {} +",
        "grep -l x . | xargs sed -i s/a/b/",
        "rm *.o",
        "F=a; echo x > $F",
        "bash script.sh",
        "bash -c 'python x.py'",
        "eval x",
        "tar xf test.tar",
        "find . -exec grep -q x {} ';' -exec rm {} ';'",
        "awk '{ print > \"out\" }' a",
        "sed -n 's/a/b/w out' a",
        "docker run -v .:/w image make",
        "docker compose exec app sh",
        "swift format -i a.swift",
        "echo x > docs\\notes.md",
        "some-tool",
        "$TOOL a",
        "echo 'a",
        "gh pr checkout 3",
        "sort -o a a",
        "curl -o a http://x",
        "ruff check --fix",
        "python3 - <<'E'\nopen('a', 'w').write('x')\nE",
        "xargs rm < list",
    ] {
        assert_eq!(effects(command), Effects::Anything, "{command}");
    }
}

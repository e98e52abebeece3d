//! Commands as they occur in sessions, and what they may have changed.

use super::*;

fn words(text: &str) -> Option<Vec<Vec<String>>> {
    let all = commands(text)?;
    let words =
        |command: &SimpleCommand| command.words.iter().map(|word| word.text.clone()).collect();
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
            r#"a "C:\b\c" "\$\"\`\\""#,
            vec![vec!["a", r"C:\b\c", r#"$"`\"#]],
        ),
        ("a \"b\\\nc\"", vec![vec!["a", "bc"]]),
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

#[test]
fn a_flag_that_writes_is_seen_in_every_spelling() {
    // A program, a further argument, the short and long name of a flag that makes it write, and flags that may precede it.
    for (program, rest, letter, name, others) in [
        ("curl", "http://x", "o", "output", "fsSL"),
        ("curl", "http://x", "D", "dump-header", "sS"),
        ("curl", "http://x", "c", "cookie-jar", "sL"),
        ("sort", "a", "o", "output", "unr"),
        ("tree", ".", "o", "output", "aC"),
        ("base64", "a", "o", "output", "D"),
        ("yq", "a", "s", "split-exp", "rP"),
    ] {
        for text in [
            format!("{program} -{letter} f {rest}"),
            format!("{program} -{letter}f {rest}"),
            format!("{program} -{others}{letter} f {rest}"),
            format!("{program} -{others}{letter}f {rest}"),
            format!("{program} {rest} -{letter}f"),
            format!("{program} --{name}=f {rest}"),
            format!("{program} --{name} f {rest}"),
            format!("sudo -u me {program} -{letter}f {rest}"),
            format!("X=1 timeout -k 1 5 {program} --{name}=f {rest}"),
            format!("{program} --no-such-flag {rest}"),
        ] {
            assert_eq!(effects(&text), Effects::Anything, "{text}");
        }
        let text = format!("{program} {rest}");
        assert_eq!(effects(&text), Effects::Paths(Vec::new()), "{text}");
    }
}

#[test]
fn what_writes_is_not_taken_for_harmless() {
    for command in [
        "curl -fsSLo src/schema.json https://x",
        "curl -so f https://x",
        "curl -sSLO https://x",
        "black -l 100 src",
        "isort -l 100 .",
        "rustfmt -l src/a.rs",
        "bash build.sh -c test",
        "sh gen.sh -c ls",
        "sort -uo a.txt a.txt",
        "sed 's/a/b/gw out.txt' f",
        "sed -n 'w out.txt' f",
        "sed -f x.sed f",
        "awk '{print > $1\".txt\"}' f",
        "awk '{print>FILENAME\".new\"}' f",
        "awk -f change.awk f",
        "find . -fprintf out.txt '%p'",
        "find . -fprint0 out",
        "find . -okdir rm {} ';'",
        "find . -no-such-test",
        "npm version patch",
        "npm audit fix",
        "bun x jscodeshift -t t.js src",
        "npm run typegen",
        "pnpm build:codegen",
        "npm run lint -- --fix",
        "yarn workspace pkg format",
        "vercel env pull .env.local",
        "aws s3 cp s3://b/k config.json",
        "kubectl cp pod:/x ./x",
        "openssl req -out k.pem",
        "openssl rand -hex -out k 32",
        "uniq a $B",
        "fd -x rm",
        "fd -HIx rm",
        "python -c \"import pandas as pd; pd.read_csv('d.csv').to_csv('d.csv')\"",
        "python -c \"Image.open('d.png').save('e.png')\"",
        "python -c \"urlretrieve(u,'f')\"",
        "python -m black src",
        "perl -e 'open F, \">x\"; print F 1'",
        "perl -pe 's/a/b/' -i a",
        "prettier --write 'src/**/*.ts'",
        "ruff check --fix --config x.toml",
        "UPDATE_EXPECT=1 cargo test",
        "go test ./... -update",
        "go mod tidy",
        "jest -iu",
        "vitest --update",
        "pytest --snapshot-update",
        "cmake -P x.cmake",
        "gh pr merge 3",
        "sudo -s <<'E'\nrm a\nE",
        "sudo -e a",
        "env -S 'rm a'",
        "psql -c '\\o out'",
        "sqlite3 a.db '.output f'",
        "wget http://x",
        "tar -xtf a.tar",
        "xargs -n 1 uniq a",
        "ForEach-Object { Remove-Item $_ }",
        "docker build -o out .",
        "unzip -o a.zip",
        "yarn",
    ] {
        assert_eq!(effects(command), Effects::Anything, "{command}");
    }
    for (command, path) in [
        ("uniq a b", "b"),
        ("xxd -r a b", "b"),
        ("git diff --output=x", ""),
    ] {
        let is_told = match effects(command) {
            Effects::Anything => true,
            Effects::Paths(paths) => paths == [path],
        };
        assert!(is_told, "{command}");
    }
}

#[test]
fn what_is_common_and_harmless_stays_so() {
    for command in [
        "ls -la --color=never src",
        "rg -n --pretty 'a b' src -g '*.rs'",
        "git --no-pager log --oneline -5 -- src",
        "git -c core.quotepath=off status --short",
        "git show HEAD:src/a.rs | head -50",
        "cargo build --release 2>&1 | tail -3",
        "cargo -q test -p x -- --nocapture name",
        "cargo check --manifest-path x/Cargo.toml",
        "go test -v -race -run TestX ./...",
        "go build ./... && go vet ./...",
        "npm --prefix web run build",
        "npm test -- --watch=false",
        "pnpm --filter x test",
        "yarn workspace pkg build",
        "npm audit --json",
        "pytest -x -q -n auto tests/test_a.py::test_b",
        "python3 -m pytest tests -k name",
        "python -m coverage run -m pytest && coverage report",
        "python -m json.tool a.json",
        "npx vitest run src/a.test.ts",
        "npx --yes jest -t name",
        "sed -n '/fn a/,/^}/p' src/a.rs",
        "sed -e 's/a/b/' -e '$d' a",
        "awk -F: '{print $1, $2}' a",
        "awk 'NR>=10 && NR<=20' a",
        "curl -s -o /dev/null -w '%{http_code}' http://localhost",
        "curl -fsSL -H 'Accept: x' -d '{}' -X POST http://localhost/x",
        "wget -qO- http://x",
        "sort -t, -k2,2n a | uniq -c | sort -rn | head -20",
        "tree -L 2 -I node_modules",
        "find . -type f -name '*.ts' -not -path './node_modules/*' -newer a | head",
        "find src -maxdepth 2 -exec wc -l {} ';' -print",
        "fd -e rs -x wc -l",
        "fd -HI name src",
        "find . -print0 | xargs -0 -n1 -P 4 grep -l x",
        "wc -l $(git ls-files)",
        "sudo -u me ls",
        "env -u A B=1 nice -n 5 make -j8 test",
        "stdbuf -oL cargo test",
        "bash -lc 'ls | wc -l'",
        "bash -euo pipefail -c 'git status'",
        "bash -n x.sh",
        "docker compose -f a.yml logs -f --tail 5 app",
        "docker image ls",
        "kubectl -n x get pods -o yaml",
        "aws s3 ls s3://x",
        "gcloud compute instances list",
        "gh pr view 3 --json title",
        "gh api repos/x/y",
        "mvn -q clean install -DskipTests",
        "./gradlew :app:assembleDebug --info",
        "mypy src",
        "ruff check src && ruff format --check src",
        "prettier --check 'src/**/*.ts'",
        "black --check -l 100 src",
        "eslint --ext .ts src",
        "openssl x509 -in a.pem -noout -text",
        "jq '.a > 3' a.json",
        "yq -o=json '.a' a.yml",
        "ps aux | awk '{print $2}' | xargs kill",
        "Get-ChildItem | Where-Object { $_.Length -gt 5 }",
        "cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON && cmake --build build",
        "psql -U me -c 'select 1'",
        "nohup npm run dev > /dev/null 2>&1 &",
    ] {
        assert_eq!(effects(command), Effects::Paths(Vec::new()), "{command}");
    }
}

#[test]
fn a_long_chain_of_commands_that_run_others_ends() {
    let text = format!("{}ls", "xargs ".repeat(100_000));
    assert_eq!(effects(&text), Effects::Anything);
}

#[test]
fn many_documents_and_commands_on_one_line_are_read_once() {
    const MANY: usize = 50_000;
    let text = format!("cat {}{}\nx\n", "<<a ".repeat(MANY), ";x".repeat(MANY));
    assert_eq!(words(&text), None);
}

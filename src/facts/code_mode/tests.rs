//! Cells as agents write them, and unusual ones.

use serde_json::json;

use super::*;

fn calls(code: &str) -> Vec<(String, Value)> {
    let cell = Cell::read(code);
    let calls = cell.calls.into_iter();
    calls.map(|call| (call.tool, call.input)).collect()
}

fn command(text: &str) -> Vec<(String, Value)> {
    vec![("exec_command".to_owned(), json!({ "cmd": text }))]
}

#[test]
fn arguments_are_read_in_every_spelling() {
    for code in [
        r#"const r = await tools.exec_command({"cmd":"ls -l"}); text(r.output);"#,
        r#"const r = await tools.exec_command({cmd: "ls -l"})
text(r.output)"#,
        "await tools.exec_command({cmd: 'ls -l',})",
        "text((await tools.exec_command({cmd: `ls -l`})).output)",
        "const cmd = 'ls -l'; await tools.exec_command({cmd});",
        "const flag = '-l'\nconst c = \"ls \" + flag;\nawait tools.exec_command({cmd: c})",
        "const flag = '-l'; await tools.exec_command({cmd: `ls ${flag}`})",
        "/* tools.exec_command({cmd: 'rm'}) */ // tools.exec_command({cmd: 'rm'})\nawait tools.exec_command({cmd: ('ls -l')})",
        "const re = /[/'\"]/g; await tools.exec_command({cmd: 'ls -l'})",
        "await tools.exec_command({cmd: String.raw`ls -l`})",
    ] {
        assert_eq!(calls(code), command("ls -l"), "{code}");
        assert_eq!(Cell::read(code).unread, 0, "{code}");
    }
}

#[test]
fn escapes_mean_what_they_mean_in_javascript() {
    let code = r#"await tools.exec_command({cmd: "a\n\t\"\\\x41\u00e9\u{1F600}\ud83d\ude00\
b'"})"#;
    assert_eq!(calls(code), command("a\n\t\"\\A\u{e9}\u{1F600}\u{1F600}b'"));
    let raw = r"await tools.exec_command({cmd: String.raw`grep '\d'`})";
    assert_eq!(calls(raw), command(r"grep '\d'"));
}

#[test]
fn what_may_not_have_run_is_not_read() {
    for code in [
        "if (x) await tools.exec_command({cmd: 'ls'})",
        "if (x)\n  await tools.exec_command({cmd: 'ls'})",
        "if (x) { text(1) } else { await tools.exec_command({cmd: 'ls'}) }",
        "for (const f of files) { await tools.exec_command({cmd: 'ls'}) }",
        "for (const f of ['a', 'b']) { if (f == x) break; await tools.exec_command({cmd: 'ls'}) }",
        "for (const f of ['a']) { if (f == x) await tools.exec_command({cmd: 'ls'}) }",
        "const l = ['a']; l.push(x); for (const f of l) await tools.exec_command({cmd: 'ls'})",
        "const l = ['a']; for (const x of [1]) { l.push(f(x)) }\nfor (const f of l) await tools.exec_command({cmd: 'ls'})",
        "const l = ['a']; const m = l; m.push(x); for (const f of l) await tools.exec_command({cmd: 'ls'})",
        "for (const tools of ['a']) await tools.exec_command({cmd: 'ls'})",
        "const l = ['a']; l[1] = x; for (const f of l) await tools.exec_command({cmd: 'ls'})",
        "for (const f of ['a'].filter(x => g(x))) await tools.exec_command({cmd: 'ls'})",
        "await ['a'].map(f => tools.exec_command({cmd: 'ls'}))",
        "const p = Promise.all(['a'].map(f => tools.exec_command({cmd: 'ls'})))",
        "await Promise.all(['a'].map(f => tools.exec_command({cmd: 'ls'}))).catch(e => 0)",
        "await Promise.all(['a'].map(f => tools.exec_command({cmd: 'ls'}).catch(e => 0)))",
        "await Promise.allSettled(['a'].map(f => tools.exec_command({cmd: 'ls'})))",
        "await Promise.all(['a'].map(async f => { if (x) return; await tools.exec_command({cmd: 'ls'}) }))",
        "files.map(f => tools.exec_command({cmd: 'ls'}))",
        "const f = async () => { await tools.exec_command({cmd: 'ls'}) }",
        "async function f() { await tools.exec_command({cmd: 'ls'}) }",
        "x && await tools.exec_command({cmd: 'ls'})",
        "const r = x ? await tools.exec_command({cmd: 'ls'}) : null",
        "if (x) return;\nawait tools.exec_command({cmd: 'ls'})",
        "if (x) { text('no'); throw new Error('e') }\nawait tools.exec_command({cmd: 'ls'})",
        "try { await tools.exec_command({cmd: 'ls'}) } catch (e) { text(String(e)) }",
        "try { f() } catch (e) { await tools.exec_command({cmd: 'ls'}) }",
        "await tools[name]({cmd: 'ls'})",
        "const p = tools.exec_command({cmd: 'ls'}); text('x')",
        "await tools.exec_command({cmd: 'ls'}).catch(e => text(e))",
        "await Promise.allSettled([tools.exec_command({cmd: 'ls'})])",
        "const tools = f(); await tools.exec_command({cmd: 'ls'})",
        "if (x) /re'/.test(y); await tools.exec_command({cmd: 'ls'})",
        "await tools.exec_command.apply(null, [])",
    ] {
        assert_eq!(calls(code), [], "{code}");
        assert_eq!(Cell::read(code).unread, 1, "{code}");
    }
}

#[test]
fn a_return_in_a_function_ends_only_that() {
    let code = "const f = xs.map(x => { return x + 1 });\nawait tools.exec_command({cmd: 'ls'})";
    assert_eq!(calls(code), command("ls"));
}

#[test]
fn values_that_depend_on_anything_are_left_out() {
    for cmd in [
        "other",
        "`ls ${x}`",
        "'ls ' + x",
        "f('ls')",
        "['ls'].join(' ')",
        "'ls'.trim()",
        "x ? 'ls' : 'rm'",
    ] {
        let code = format!("await tools.exec_command({{cmd: {cmd}, workdir: '/w'}})");
        let expected = vec![("exec_command".to_owned(), json!({ "workdir": "/w" }))];
        assert_eq!(calls(&code), expected, "{code}");
    }
    let spread = "await tools.exec_command({cmd: 'ls', ...rest})";
    assert_eq!(calls(spread), [("exec_command".to_owned(), Value::Null)]);
    let again = "{ const c = 'ls'; }\n{ const c = 'rm'; await tools.exec_command({cmd: c}) }";
    assert_eq!(calls(again), [("exec_command".to_owned(), json!({}))]);
    let changed = "let c = 'ls'; c = 'rm'; await tools.exec_command({cmd: c})";
    assert_eq!(calls(changed), [("exec_command".to_owned(), json!({}))]);
}

#[test]
fn what_runs_for_each_value_of_a_list_is_read_for_each() {
    for code in [
        "for (const c of ['a', 'b']) await tools.exec_command({cmd: c})",
        "for (const c of ['a', 'b']) { const r = await tools.exec_command({cmd: c}); text(r.output) }",
        "const cs = [['x', 'a'], ['y', 'b']];\nfor (const [name, cmd] of cs) {\n  const r = await tools.exec_command({cmd});\n  text(name)\n}",
        "for (const {what: cmd} of [{what: 'a'}, {what: 'b'}]) { await tools.exec_command({cmd}) }",
        "const cs = ['a', 'b']; await Promise.all(cs.map(cmd => tools.exec_command({cmd})))",
        "const rs = await Promise.all(['a', 'b'].map((cmd, i) => tools.exec_command({cmd})));\nfor (const r of rs) text(r.output)",
        "const cs = [[1, {cmd: 'a'}], [2, {cmd: 'b'}]]; await Promise.all(cs.map(async ([n, args]) => [n, await tools.exec_command(args)]))",
        "const cs = ['a', 'b']; await Promise.all(cs.map(async c => { const cmd = `${c}`; const r = await tools.exec_command({cmd}); return [c, r] }))",
        "await Promise.all(['a', 'b'].map(async cmd => { return tools.exec_command({cmd}) }))",
    ] {
        let cell = Cell::read(code);
        let of = |call: &CellCall| call.input["cmd"].as_str().map(str::to_owned);
        let commands: Vec<_> = cell.calls.iter().map(of).collect();
        assert_eq!(commands, [Some("a".into()), Some("b".into())], "{code}");
        assert_eq!(cell.unread, 0, "{code}");
    }
    let number = "const n = [7]; await Promise.all(n.map((n, at) => tools.exec_command({cmd: `gh pr view ${n} # ${at}`})))";
    assert_eq!(calls(number), command("gh pr view 7 # 0"));
    assert_eq!(
        calls("for (const c of []) await tools.exec_command({cmd: c})"),
        []
    );
    // The code after it runs once, and its names are different ones.
    let after = "for (const c of ['ls']) { await tools.exec_command({cmd: c}) }\nawait tools.exec_command({cmd: c})";
    let expected = [command("ls"), vec![("exec_command".into(), json!({}))]].concat();
    assert_eq!(calls(after), expected);
}

#[test]
fn in_turn_each_round_has_its_blocks_and_at_once_nobody_knows() {
    let in_turn = "for (const cmd of ['a', 'b']) { const r = await tools.exec_command({cmd}); text(r.output) }";
    let cell = Cell::read(in_turn);
    let output = |cell: &Cell, call: usize| cell.printed(call, &["one", "two"]).output;
    let both = [output(&cell, 0), output(&cell, 1)];
    assert_eq!(both, ["one", "two"].map(|text| Some(text.to_owned())));
    let at_once = "await Promise.all(['a', 'b'].map(async cmd => { const r = await tools.exec_command({cmd}); text(r.output) }))";
    let cell = Cell::read(at_once);
    assert_eq!([output(&cell, 0), output(&cell, 1)], [None, None]);
}

#[test]
fn a_cell_does_not_grow_without_end() {
    let mut doubles = "const c0 = 'aaaaaaaaaa';".to_owned();
    for n in 0..60 {
        doubles += &format!("const c{} = c{n} + c{n};", n + 1);
    }
    doubles += "await tools.exec_command({cmd: c60})";
    assert_eq!(calls(&doubles), [("exec_command".to_owned(), json!({}))]);
    let long = "a".repeat(100_000);
    let often = format!(
        "const c = '{long}'; {}",
        "await tools.exec_command({cmd: c}); ".repeat(3_000)
    );
    let read = calls(&often);
    let bytes: usize = read.iter().map(|(_, input)| input.to_string().len()).sum();
    assert_eq!(read.len(), 3_000);
    assert!(bytes < 32 * often.len(), "{bytes}");
    let list = ["'a'"; 64].join(",");
    let loops = format!("for (const c of [{list}]) {{ f('{long}') }} ").repeat(40);
    assert_eq!(calls(&loops), []);
    let names: String = (0..100).map(|n| format!("a: a{n}, ")).collect();
    let parts = format!("for (const {{{names}}} of [{{a: '{long}'}}]) tools.x({{cmd: a1}})");
    assert_eq!(calls(&parts), []);
}

#[test]
fn a_patch_is_a_text() {
    let code = "const patch = \"*** Begin Patch\\n*** Add File: a\\n+x\\n*** End Patch\";\nconst r = await tools.apply_patch(patch);\ntext(r.output)";
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch";
    assert_eq!(
        calls(code),
        [("apply_patch".to_owned(), Value::String(patch.to_owned()))]
    );
}

#[test]
fn several_calls_have_each_their_blocks() {
    let code = "const [a, b] = await Promise.all([tools.exec_command({cmd: 'x'}), tools.exec_command({cmd: 'y'})]);
text(a.output); text(`exit=${a.exit_code}`); text(JSON.stringify(b, null, 2));";
    let cell = Cell::read(code);
    let blocks = [
        "one",
        "exit=3",
        "{\"output\": \"two\", \"exit_code\": 0, \"session_id\": 7}",
    ];
    let printed = |output: &str, exit_code, session| Printed {
        output: Some(output.to_owned()),
        exit_code: Some(exit_code),
        session,
    };
    assert_eq!(cell.printed(0, &blocks), printed("one", 3, None));
    assert_eq!(cell.printed(1, &blocks), printed("two", 0, Some(7)));
    // One block is missing, or all were cut off together.
    assert_eq!(cell.printed(0, &blocks[..2]), Printed::default());
    let cut = [
        "Warning: truncated output (original token count: 9)\none",
        "",
        "",
    ];
    assert_eq!(cell.printed(0, &cut), Printed::default());
}

#[test]
fn keys_that_an_object_repeats_are_those_of_the_result() {
    let block = "{\"output\":\"two\",\"exit_code\":1}";
    let of = |printed: &str| {
        let code = format!(
            "const r = await tools.exec_command({{cmd: 'x'}}); text(JSON.stringify({printed}));"
        );
        Cell::read(&code).printed(0, &[block]).exit_code
    };
    assert_eq!(of("{output: r.output, exit_code: r.exit_code}"), Some(1));
    assert_eq!(of("{'exit_code': r.exit_code, }, null, 2"), Some(1));
    for other in [
        "{output: r.output, exit_code: q.exit_code}",
        "{output: r.output, exit_code: r.wall_time}",
        "{output: r.output, exit_code: 1}",
        "{}",
    ] {
        assert_eq!(of(other), None, "{other}");
    }
}

#[test]
fn what_may_not_be_printed_moves_nothing() {
    let code = "const r = await tools.exec_command({cmd: 'x'});
text(r.output);
if (r.session_id) text(`session=${r.session_id}`);
text(`exit=${r.exit_code}`);";
    let cell = Cell::read(code);
    let printed = cell.printed(0, &["out", "exit=1"]);
    assert_eq!(printed.output.as_deref(), Some("out"));
    assert_eq!(printed.exit_code, None);
}

#[test]
fn a_print_is_of_the_call_that_its_constant_held_then() {
    let two = "{ const r = await tools.exec_command({cmd: 'x'}); text(r.output); }
{ const r = await tools.exec_command({cmd: 'y'}); text(r.output); }";
    let cell = Cell::read(two);
    let output = |call: usize| cell.printed(call, &["one", "two"]).output;
    assert_eq!(
        [output(0), output(1)],
        ["one", "two"].map(|text| Some(text.to_owned()))
    );
    for code in [
        "const r = await tools.exec_command({cmd: 'x'}); r.output = 'mine'; text(r.output);",
        "const r = await tools.exec_command({cmd: 'x'}); { const r = f(); text(r.output); }",
        "const r = await tools.exec_command({cmd: 'x'}); reply.text(r.output); text('mine');",
    ] {
        assert_eq!(
            Cell::read(code).printed(0, &["mine"]).output,
            None,
            "{code}"
        );
    }
}

#[test]
fn a_label_is_not_of_the_output() {
    for (print, block) in [
        ("\"A\\n\" + r.output", "A\nout"),
        ("'(' + r.output + ')'", "(out)"),
        ("`<${r.output}>`", "<out>"),
    ] {
        let code = format!("const r = await tools.exec_command({{cmd: 'x'}}); text({print});");
        let cell = Cell::read(&code);
        let output = cell.printed(0, &[block]).output;
        assert_eq!(output.as_deref(), Some("out"), "{print}");
        assert_eq!(cell.printed(0, &["other"]).output, None, "{print}");
    }
    // The other operand of the sum is unknown.
    let code = "const r = await tools.exec_command({cmd: 'x'}); text('A' + x + r.output);";
    assert_eq!(Cell::read(code).printed(0, &["About"]), Printed::default());
}

#[test]
fn a_call_that_is_printed_at_once_is_its_own() {
    let cell = Cell::read("text(await tools.apply_patch('p'));");
    assert_eq!(
        cell.printed(0, &["Success"]).output.as_deref(),
        Some("Success")
    );
}

#[test]
fn anything_is_read_to_its_end() {
    let deep = "(".repeat(100_000);
    let templates = "`${".repeat(100_000);
    for code in [
        "",
        "{",
        "}",
        "'",
        "`${`",
        "tools.",
        "const",
        "const [",
        deep.as_str(),
        templates.as_str(),
    ] {
        Cell::read(code);
    }
    let nested = format!("{}tools.x(){}", "[".repeat(200), "]".repeat(200));
    let cell = Cell::read(&nested);
    assert_eq!((cell.calls.len(), cell.unread), (0, 1));
}

#[test]
fn code_of_any_length_takes_bounded_memory() {
    let call = "await tools.exec_command({cmd: 'ls'})";
    let of_length =
        |length: usize| Cell::read(&(call.to_owned() + &" ".repeat(length - call.len())));
    assert_eq!(of_length(LONGEST).calls.len(), 1);
    let cell = of_length(LONGEST + 1);
    assert_eq!((cell.calls.len(), cell.unread), (0, 1));
}

"""Seeded randomness and pools of text that looks like what coding agents read and print.

A pool is built once from line templates; callers take slices. That makes a corpus of any size at the speed of
JSON encoding. Never uses the clock, hash order, libm or the parts of `random` that differ between Python
versions: the same seed gives the same bytes on every machine.
"""

import random
import uuid

POOL_CHARS = 400_000  # per kind; larger than the largest result, so that one slice seldom repeats itself

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BASE64 = BASE62 + "+/"

# Characters of a tool result at 21 equally likely quantiles, roughly log-normal with a median of 900. A table,
# because exp() may differ between machines in its last bit.
RESULT_QUANTILES = [0, 20, 50, 90, 140, 200, 270, 360, 480, 640, 900, 1_200, 1_600, 2_200, 3_000, 4_200, 5_800,
                    8_000, 11_500, 17_000, 30_000]
HUGE_RESULT_SHARE = 0.006  # of the results, 50 to 200 kB


class Rng:
    """Random values that depend on nothing but the key."""

    def __init__(self, *key):
        self._random = random.Random("/".join(str(part) for part in key))
        self.unit = self._random.random

    def below(self, n):
        """An integer in 0..n-1."""
        return int(self.unit() * n)

    def between(self, low, high):
        """An integer in low..high, both included."""
        return low + int(self.unit() * (high - low + 1))

    def chance(self, share):
        return self.unit() < share

    def pick(self, items):
        return items[int(self.unit() * len(items))]

    def hex(self, digits):
        return f"{self._random.getrandbits(4 * digits):0{digits}x}"

    def token(self, length, alphabet=BASE62):
        """`length` characters of the alphabet."""
        bits = self._random.getrandbits(8 * length).to_bytes(length, "big")
        size = len(alphabet)
        return "".join([alphabet[b % size] for b in bits])

    def uuid(self):
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def result_size(self):
        """The length of one tool result, in characters."""
        if self.chance(HUGE_RESULT_SHARE):
            return self.between(50_000, 200_000)
        place = self.unit() * (len(RESULT_QUANTILES) - 1)
        low = int(place)
        return int(RESULT_QUANTILES[low] + (place - low) * (RESULT_QUANTILES[low + 1] - RESULT_QUANTILES[low]))


WORDS = """account adapter batch block buffer cache channel chunk client column command config context counter
cursor decoder delta digest edge encoder entry event field filter frame graph handle header index input job key
layer lease limit line lock message metric node offset output packet page parser path payload plan policy pool
prefix queue range reader record region registry request result retry route row scanner schema segment session
shard signal slot snapshot socket source span state store stream table task template thread ticket timer token
trace tree value vector view window worker writer""".split()
VERBS = """append apply build check clear close collect compact count decode drop emit encode expand fetch find
flush fold gather insert join list load mark merge open parse plan poll push read render replace reset resolve
restore route scan seal select send settle skip sort split spill start stop store sum swap sync take trim update
verify visit walk write""".split()
TYPES = ["u64", "usize", "String", "Vec<u8>", "Option<u32>", "&str", "Result<()>", "bool", "HashMap<String, u64>"]
FOLDERS = ["src", "src/core", "src/net", "src/store", "lib", "app/models", "app/services", "internal", "tests",
           "packages/api/src", "packages/web/src", "docs", "scripts"]
CJK = """修复解析器的边界错误 更新配置文件的默认值 添加单元测试覆盖空输入 检查缓存是否过期 重新连接时重试三次
读取会话记录并统计令牌 这里需要注意线程安全 返回压缩后的结果 设定値を読み込む テストが失敗しました
ログを確認してください 入力が空の場合の処理 キャッシュを無効にする 요청을 다시 시도합니다 설정 파일을 읽는 중
테스트가 통과했습니다""".split()
EMOJI = ["✅", "❌", "⚠️", "🚀", "📋", "→", "●", "└─"]


def name(rng):
    return f"{rng.pick(VERBS)}_{rng.pick(WORDS)}"


def camel(rng):
    return rng.pick(WORDS).capitalize() + rng.pick(WORDS).capitalize()


def path(rng, extensions=("rs", "py", "ts", "json", "md", "go")):
    return f"{rng.pick(FOLDERS)}/{rng.pick(WORDS)}_{rng.pick(WORDS)}.{rng.pick(extensions)}"


def rust(rng):
    a, b, n = rng.pick(WORDS), rng.pick(WORDS), rng.below(4096)
    return (f"/// The {a} of one {b}, in bytes.\n"
            f"pub fn {name(rng)}({a}: &{camel(rng)}, {b}: {rng.pick(TYPES)}) -> Result<{rng.pick(TYPES)}> {{\n"
            f"    let mut {a}_{b} = {a}.{name(rng)}({n})?;\n"
            f"    if {a}_{b}.len() > {n} && {b} != \"{rng.pick(WORDS)}\\n\" {{\n"
            f"        return Err(Error::new(ErrorKind::{camel(rng)}, format!(\"{{{a}}}: {b} is too long\")));\n"
            f"    }}\n    Ok({a}_{b}.{rng.pick(VERBS)}(|x| x & 0x{rng.hex(4)}))\n}}\n\n")


def python(rng):
    a, b, n = rng.pick(WORDS), rng.pick(WORDS), rng.below(1000)
    return (f"def {name(rng)}(self, {a}: str, {b}: int = {n}) -> dict[str, list[int]]:\n"
            f"    \"\"\"Return the {b} of every {a} that is not 'empty'.\"\"\"\n"
            f"    for {b}, item in enumerate(self._{a}s):\n"
            f"        if not item or item[\"{b}\"] is None:\n            continue\n"
            f"        logger.info(\"{rng.pick(VERBS)} %s: %d\\t(%s)\", {a}, {b}, item)\n"
            f"    return {{\"{a}\": [{n}, {rng.below(99)}], '{b}': []}}\n\n\n")


def typescript(rng):
    a, b = rng.pick(WORDS), rng.pick(WORDS)
    return (f"export async function {rng.pick(VERBS)}{camel(rng)}({a}: {camel(rng)}, {b}?: number): Promise<void> {{\n"
            f"  const {{ {a}Id, {b}Count = {rng.below(50)} }} = await this.{a}.{rng.pick(VERBS)}(`/${{{b}}}/{a}`);\n"
            f"  if ({b}Count >= {rng.below(900)}) throw new Error('{a} {b} limit');\n"
            f"  // {rng.pick(VERBS)} the {b} before the {a}, see #{rng.below(4000)}\n  return;\n}}\n\n")


def json_text(rng):
    a, b = rng.pick(WORDS), rng.pick(WORDS)
    return (f"{{\"id\": \"{rng.hex(12)}\", \"{a}\": {{\"{b}\": {rng.below(99999)}, \"ratio\": 0.{rng.below(999)}, "
            f"\"path\": \"C:\\\\{a}\\\\{b}.txt\", \"tags\": [\"{rng.pick(WORDS)}\", null, true]}}, "
            f"\"url\": \"https://example.com/{a}/{b}?q={rng.below(99)}\"}},\n")


def log(rng):
    stamp = f"2026-0{rng.between(1, 9)}-{rng.between(10, 28)}T{rng.between(10, 23)}:{rng.between(10, 59)}:{rng.between(10, 59)}"
    level = rng.pick(["INFO ", "DEBUG", "WARN ", "ERROR"])
    return (f"{stamp}.{rng.between(100, 999)}Z {level} {rng.pick(WORDS)}::{rng.pick(WORDS)}: {rng.pick(VERBS)} "
            f"{rng.pick(WORDS)}={rng.below(10_000)} elapsed_ms={rng.below(900)} id={rng.hex(16)}\n")


def ansi(rng):
    if rng.chance(0.1):
        return (f"\x1b[0m\x1b[1m\x1b[38;5;9merror[E0{rng.between(100, 799)}]\x1b[0m\x1b[1m: mismatched types\x1b[0m\n"
                f" \x1b[38;5;12m--> \x1b[0m{path(rng, ('rs',))}:{rng.below(900)}:{rng.below(80)}\n")
    verdict = "\x1b[32mok\x1b[0m" if rng.chance(0.95) else "\x1b[31mFAILED\x1b[0m"
    return f"test {rng.pick(WORDS)}::tests::{name(rng)}_{rng.pick(WORDS)} ... {verdict}\n"


def diff(rng):
    a, b = rng.pick(WORDS), rng.pick(WORDS)
    start = rng.below(700)
    return (f"diff --git a/{a}.rs b/{a}.rs\nindex {rng.hex(8)}..{rng.hex(8)} 100644\n@@ -{start},4 +{start},5 @@\n"
            f"     let {a} = {b}.{name(rng)}();\n-    {a}.{name(rng)}(\"{b}\");\n+    {a}.{name(rng)}(&{b})?;\n"
            f"+    debug_assert!({a}.len() < {rng.below(64)});\n }}\n")


def grep(rng):
    return f"{path(rng)}:{rng.below(1500)}:    let {rng.pick(WORDS)} = {rng.pick(WORDS)}.{name(rng)}(\"{rng.pick(WORDS)}\");\n"


def paths(rng):
    return f"./{path(rng)}\n"


def markdown(rng):
    if rng.chance(0.2):
        return f"\n## {camel(rng)} and the {rng.pick(WORDS)}\n\n"
    mark = rng.pick(["- ", "1. ", "", "> ", f"{rng.pick(EMOJI)} "])
    return (f"{mark}The `{name(rng)}` step must {rng.pick(VERBS)} each {rng.pick(WORDS)} before the "
            f"{rng.pick(WORDS)} is closed; see **{path(rng)}** – “{rng.pick(WORDS)}”.\n")


def cjk(rng):
    return f"{rng.pick(['- ', '', '## ', '// '])}{rng.pick(CJK)}，{rng.pick(CJK)}（{name(rng)}）。{rng.pick(EMOJI)}\n"


def prose(rng):
    a, b = rng.pick(WORDS), rng.pick(WORDS)
    return rng.pick([
        f"The {a} does not {rng.pick(VERBS)} its {b} when the {rng.pick(WORDS)} is empty.\n",
        f"Let me {rng.pick(VERBS)} `{path(rng)}` first, then {rng.pick(VERBS)} the {a}.\n",
        f"I decided to keep `{name(rng)}` as it is, because the {b} depends on it.\n",
        f"Next: {rng.pick(VERBS)} the {a} {b} and run the tests again.\n",
        f"That failed with {rng.between(2, 30)} errors; all of them come from the {a}'s {b}.\n",
    ])


KINDS = {"rust": rust, "python": python, "typescript": typescript, "json": json_text, "log": log, "ansi": ansi,
         "diff": diff, "grep": grep, "paths": paths, "markdown": markdown, "cjk": cjk, "prose": prose}
BY_EXTENSION = {"rs": "rust", "py": "python", "ts": "typescript", "json": "json", "md": "markdown", "go": "rust"}


class Library:
    """One pool of text a kind."""

    def __init__(self, seed):
        self._pools = {kind: _pool(Rng(seed, "pool", kind), make) for kind, make in KINDS.items()}

    def take(self, rng, kind, size):
        """About `size` characters of a kind, whole lines where that is possible; never blank for size > 0."""
        if size <= 0:
            return ""
        pool = self._pools[kind]
        start = pool.find("\n", rng.below(len(pool) - 2_000)) + 1
        text = pool[start:start + size]
        if len(text) < size:
            text += pool[:size - len(text)]
        end = text.rfind("\n")
        if end > size // 2:
            text = text[:end]
        return text if text.strip() else f"{rng.pick(WORDS)} {rng.pick(WORDS)}"

    def line(self, rng, kind="prose"):
        """One line of a kind, without its line end."""
        pool = self._pools[kind]
        start = pool.find("\n", rng.below(len(pool) - 2_000)) + 1
        return pool[start:pool.find("\n", start)].strip() or rng.pick(WORDS)


def _pool(rng, make):
    parts, size = [], 0
    while size < POOL_CHARS:
        parts.append(make(rng))
        size += len(parts[-1])
    return "".join(parts)

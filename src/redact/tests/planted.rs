//! Generates secrets of every kind and plants them into text as agents see it.
//!
//! Generates every secret from a seed instead of writing it out, so that no scanner mistakes this file for a leak.

/// SplitMix64: small, and the same on every machine.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    pub(super) fn draw(&mut self, alphabet: &str, len: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..len)
            .map(|_| char::from(alphabet[self.below(alphabet.len())]))
            .collect()
    }
}

pub(super) const DIGIT: &str = "0123456789";
pub(super) const HEX: &str = "0123456789abcdef";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
pub(super) const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
pub(super) const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A secret and where it is planted.
pub(super) struct Plant {
    pub(super) form: &'static str,
    pub(super) before: String,
    pub(super) secret: String,
    pub(super) after: String,
}

/// Tokens that are recognised by their form: prefix, alphabet, length.
const TOKENS: &[(&str, &[&str], &str, usize)] = &[
    (
        "age",
        &["AGE-SECRET-", "KEY-1"],
        "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
        58,
    ),
    ("aws-id", &["AK", "IA"], BASE32, 16),
    ("aws-temporary-id", &["AS", "IA"], BASE32, 16),
    ("google-api", &["AI", "za"], WORD, 35),
    ("google-access", &["ya", "29."], WORD, 120),
    ("google-client", &["GOC", "SPX-"], WORD, 28),
    ("github-classic", &["gh", "p_"], ALNUM, 36),
    ("github-oauth", &["gh", "o_"], ALNUM, 36),
    ("github-app", &["gh", "s_"], ALNUM, 36),
    ("github-fine", &["github", "_pat_"], ALNUM, 82),
    ("gitlab", &["gl", "pat-"], WORD, 20),
    ("stripe-live", &["sk", "_live_"], ALNUM, 24),
    ("stripe-long", &["sk", "_live_51"], ALNUM, 97),
    ("stripe-test", &["sk", "_test_"], ALNUM, 24),
    ("stripe-restricted", &["rk", "_live_"], ALNUM, 24),
    ("stripe-hook", &["wh", "sec_"], ALNUM, 32),
    ("anthropic", &["sk-", "ant-api03-"], WORD, 95),
    ("openai-legacy", &["s", "k-"], ALNUM, 48),
    ("openai-project", &["sk-", "proj-"], WORD, 124),
    ("deepseek", &["s", "k-"], HEX, 32),
    ("openrouter", &["sk-", "or-v1-"], HEX, 64),
    ("groq", &["gs", "k_"], ALNUM, 52),
    ("xai", &["xa", "i-"], ALNUM, 80),
    ("replicate", &["r", "8_"], ALNUM, 37),
    ("hugging-face", &["h", "f_"], ALNUM, 34),
    ("npm", &["np", "m_"], ALNUM, 36),
    ("pypi", &["py", "pi-AgEIcHlwaS5vcmcC"], WORD, 150),
    ("crates-io", &["c", "io"], ALNUM, 32),
    ("rubygems", &["ruby", "gems_"], HEX, 48),
    ("docker-hub", &["dckr", "_pat_"], WORD, 27),
    ("digitalocean", &["dop", "_v1_"], HEX, 64),
    ("vault", &["hv", "s."], WORD, 90),
    ("databricks", &["da", "pi"], HEX, 32),
    ("shopify", &["shp", "at_"], HEX, 32),
    ("mailgun", &["ke", "y-"], HEX, 32),
    ("new-relic", &["NR", "AK-"], UPPER, 27),
    ("linear", &["lin", "_api_"], ALNUM, 40),
    ("notion", &["nt", "n_"], ALNUM, 46),
    ("notion-old", &["sec", "ret_"], ALNUM, 43),
    ("figma", &["fi", "gd_"], WORD, 40),
    ("supabase", &["sb", "p_"], HEX, 40),
    ("sentry", &["sntry", "u_"], HEX, 64),
    ("pulumi", &["pu", "l-"], HEX, 40),
    ("doppler", &["dp.", "pt."], ALNUM, 43),
    ("twilio", &["S", "K"], HEX, 32),
    ("resend", &["r", "e_"], ALNUM, 33),
    ("elevenlabs", &["s", "k_"], HEX, 48),
    ("firecrawl", &["f", "c-"], HEX, 32),
    ("fireworks", &["f", "w_"], ALNUM, 24),
    ("square", &["EA", "AA"], WORD, 60),
    ("facebook", &["EA", "AG"], ALNUM, 180),
    ("planetscale", &["pscale", "_tkn_"], WORD, 43),
];

/// Tokens of several parts.
fn composed(rng: &mut Rng) -> Vec<(&'static str, String)> {
    let jwt = |rng: &mut Rng| {
        let claims = rng.draw(WORD, 90);
        let mac = rng.draw(WORD, 43);
        format!(
            "{}JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{}J{claims}.{mac}",
            "ey", "ey"
        )
    };
    vec![
        (
            "slack-bot",
            format!(
                "xo{}-{}-{}-{}",
                "xb",
                rng.draw(DIGIT, 12),
                rng.draw(DIGIT, 13),
                rng.draw(ALNUM, 24)
            ),
        ),
        (
            "brevo",
            format!(
                "xkeys{}-{}-{}",
                "ib",
                rng.draw(HEX, 64),
                rng.draw(ALNUM, 16)
            ),
        ),
        (
            "airtable",
            format!("pa{}{}.{}", "t", rng.draw(ALNUM, 14), rng.draw(HEX, 64)),
        ),
        (
            "slack-user",
            format!(
                "xo{}-{}-{}-{}-{}",
                "xp",
                rng.draw(DIGIT, 12),
                rng.draw(DIGIT, 12),
                rng.draw(DIGIT, 13),
                rng.draw(HEX, 32)
            ),
        ),
        (
            "sendgrid",
            format!("S{}{}.{}", "G.", rng.draw(WORD, 22), rng.draw(WORD, 43)),
        ),
        (
            "telegram",
            format!(
                "{}:{}{}",
                rng.draw("123456789", 10),
                "AA",
                rng.draw(WORD, 33)
            ),
        ),
        (
            "entra",
            format!("{}8{}{}", rng.draw(ALNUM, 3), "Q~", rng.draw(WORD, 33)),
        ),
        (
            "new-relic-licence",
            format!("{}{}", rng.draw(HEX, 36), "NRAL"),
        ),
        (
            "terraform",
            format!(
                "{}.{}.{}",
                rng.draw(ALNUM, 14),
                "atlasv1",
                rng.draw(WORD, 67)
            ),
        ),
        (
            "grafana",
            format!("gl{}{}_{}", "sa_", rng.draw(ALNUM, 32), rng.draw(HEX, 8)),
        ),
        (
            "postman",
            format!("PM{}{}-{}", "AK-", rng.draw(HEX, 24), rng.draw(HEX, 34)),
        ),
        ("jwt", jwt(rng)),
    ]
}

/// Texts around a token that is recognised by its form.
const AROUND_TOKEN: &[(&str, &str)] = &[
    ("export THE_VALUE=", "\nexport OTHER=1\n"),
    ("PORT=8080\nTHE_VALUE=\"", "\"\nDEBUG=true\n"),
    ("{\"credential\": \"", "\", \"retries\": 3}"),
    (
        "{\"content\":\"{\\\"note\\\": \\\"",
        "\\\", \\\"n\\\": 1}\"}",
    ),
    ("service:\n  credential: ", "\n  region: eu-west-1\n"),
    ("[service]\ncredential = '", "'\nregion = 'eu'\n"),
    (
        "$ curl -sS -H \"X-Thing: ",
        "\" https://api.example.com/v1/items\n",
    ),
    (
        "GET https://api.example.com/v1/items?a=",
        "&page=2 HTTP/1.1\n",
    ),
    ("< x-thing: ", "\n< content-type: application/json\n"),
    (
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nValueError: bad credential '",
        "' (401)\n",
    ),
    ("    let client = Client::new(\"", "\");\n"),
    ("const client = new Client({ auth: '", "' });\n"),
    ("@@ -1,2 +1,2 @@\n-const t = '';\n+const t = '", "';\n"),
    ("Use `", "` for now.\n"),
    ("     7\t  value: ", "\n     8\t  other: 2\n"),
    ("{\"stdout\":\"done\\n", "\\nnext line\\n\"}"),
    ("\\u001b[32m", "\\u001b[0m ok"),
    ("\x1b[32m", "\x1b[0m ok"),
    ("I tried ", " and it said 401.\n"),
    ("It is ", ". Keep it safe.\n"),
    ("id,value,when\n12,", ",2024-05-01\n"),
    ("callback?next=%2F&t%3D", "%26page=2"),
];

/// Names that show what is assigned to them, with ways to assign it.
const AROUND_SECRET: &[(&str, &str)] = &[
    ("export SERVICE_API_KEY=", "\n"),
    ("PORT=8080\nCLIENT_SECRET=\"", "\"\nDEBUG=1\n"),
    ("{\"api_key\": \"", "\", \"n\": 3}"),
    ("{\"clientSecret\":\"", "\"}"),
    (
        "{\"content\":\"{\\\"access_token\\\": \\\"",
        "\\\", \\\"n\\\": 1}\"}",
    ),
    ("service:\n  api-key: ", "\n  region: eu\n"),
    ("[service]\napi_key = '", "'\n"),
    ("    const API_KEY: &str = \"", "\";\n"),
    ("client = Client(api_key=\"", "\", retries=3)\n"),
    ("const config = { apiKey: '", "', retries: 3 };\n"),
    ("GET /v1/items?api_key=", "&page=2 HTTP/1.1\n"),
    ("X-Api-Key: ", "\nAccept: */*\n"),
    ("$ tool login --token ", " --verbose\n"),
    ("$ tool login --api-key=", " --verbose\n"),
    ("<add><apiKey>", "</apiKey></add>"),
    ("docker run -e APP_SECRET=", " image:latest\n"),
    ("        - name: SERVICE_TOKEN\n          value: ", "\n"),
    ("{\"name\":\"SERVICE_API_KEY\",\"value\":\"", "\"}"),
    ("os.environ[\"AUTH_TOKEN\"] = \"", "\"\n"),
    ("     3\tSECRET_KEY=", "\n"),
    ("//registry.example.com/:_authToken=", "\n"),
    ("Authorization: Bearer ", "\nAccept: */*\n"),
    (
        "curl -H 'Authorization: Bearer ",
        "' https://api.example.com\n",
    ),
    ("{\"headers\": {\"Authorization\": \"Bearer ", "\"}}"),
    ("headers.set(\"authorization\", \"Token ", "\");\n"),
    ("request sent with bearer ", " to host\n"),
    ("Cookie: theme=dark; session=", "; lang=en\n"),
    ("Set-Cookie: sid=", "; Path=/; HttpOnly\n"),
];

/// Names of passwords.
const AROUND_PASSWORD: &[(&str, &str)] = &[
    ("DB_PASSWORD=", "\n"),
    ("export PGPASSWORD=\"", "\"\n"),
    ("{\"password\": \"", "\", \"user\": \"ana\"}"),
    (
        "{\"content\":\"{\\\"password\\\": \\\"",
        "\\\", \\\"n\\\": 1}\"}",
    ),
    ("database:\n  password: ", "\n  port: 5432\n"),
    (
        "spring.datasource.password=",
        "\nspring.datasource.url=jdbc\n",
    ),
    ("connect(user=\"ana\", password=\"", "\")\n"),
    ("const db = { user: 'ana', password: '", "' };\n"),
    ("$ mysql -u root -p", " shop\n"),
    ("$ sshpass -p ", " ssh ana@host\n"),
    ("$ curl -u ana:", " https://api.example.com\n"),
    ("$ tool login --user ana --password ", " --verbose\n"),
    ("CREATE USER ana IDENTIFIED BY '", "';\n"),
    ("Server=db;User Id=sa;Password=", ";Encrypt=true\n"),
    ("<password>", "</password>"),
    ("SMTP_PASS='", "'\n"),
    ("        - name: DB_PASSWORD\n          value: ", "\n"),
    ("machine api.example.com login ana password ", "\n"),
    ("db.example.com:5432:shop:ana:", "\n"),
];

/// Addresses with a password.
const AROUND_LOGIN: &[(&str, &str)] = &[
    (
        "DATABASE_URL=postgres://ana:",
        "@db.example.com:5432/shop\n",
    ),
    (
        "DATABASE_URL=\"postgresql+asyncpg://ana:",
        "@db/shop?sslmode=require\"\n",
    ),
    ("mysql://ana:", "@127.0.0.1:3306/shop"),
    (
        "{\"uri\": \"mongodb+srv://ana:",
        "@cluster0.example.net/shop?w=majority\"}",
    ),
    ("redis://:", "@cache:6379/0\n"),
    ("amqp://ana:", "@mq:5672/%2f\n"),
    ("git clone https://ana:", "@git.example.com/a/b.git\n"),
    (
        "{\"content\":\"{\\\"url\\\":\\\"https://ana:",
        "@host/path\\\"}\"}",
    ),
];

/// A password as chosen by a person: a word or two, then digits and a punctuation mark.
fn chosen(rng: &mut Rng) -> String {
    let words = [
        "Summer",
        "dragon",
        "Falcon",
        "winter",
        "Tr0ub4dor",
        "c0ffee",
        "Monkey",
        "shadow",
        "Berlin",
        "orchid",
    ];
    let marks = ["!", "&3", "#", "$9", "_x", "*", "?", "+1", "%", "=z"];
    let (first, second) = (rng.pick(&words), rng.pick(&["", "Blue", "Kite", "oak"]));
    let number = rng.draw(DIGIT, 3);
    format!("{first}{second}{number}{}", rng.pick(&marks))
}

fn key_body(rng: &mut Rng, newline: &str) -> String {
    let lines: Vec<String> = (0..12).map(|_| rng.draw(BASE64, 64)).collect();
    let last = rng.draw(BASE64, 22);
    format!("{}{newline}{last}==", lines.join(newline))
}

pub(super) fn planted(seed: u64, rounds: usize) -> Vec<Plant> {
    let mut rng = Rng(seed);
    let mut plants = Vec::new();
    let mut plant = |form, (before, after): (&str, &str), secret| {
        plants.push(Plant {
            form,
            before: before.to_owned(),
            secret,
            after: after.to_owned(),
        });
    };
    for _ in 0..rounds {
        for (form, prefix, alphabet, len) in TOKENS {
            let secret = format!("{}{}", prefix.concat(), rng.draw(alphabet, *len));
            plant(form, AROUND_TOKEN[rng.below(AROUND_TOKEN.len())], secret);
        }
        for (form, secret) in composed(&mut rng) {
            plant(form, AROUND_TOKEN[rng.below(AROUND_TOKEN.len())], secret);
        }
        let secret = rng.draw(ALNUM, 32);
        plant(
            "named-alnum",
            AROUND_SECRET[rng.below(AROUND_SECRET.len())],
            secret,
        );
        let secret = rng.draw(LOWER, 24);
        plant(
            "named-lower",
            AROUND_SECRET[rng.below(AROUND_SECRET.len())],
            secret,
        );
        let secret = rng.draw(HEX, 40);
        plant(
            "named-hex",
            AROUND_SECRET[rng.below(AROUND_SECRET.len())],
            secret,
        );
        let secret = format!("{}=", rng.draw(BASE64, 43));
        plant("named-base64", AROUND_SECRET[rng.below(16)], secret);
        let secret = rng.draw(ALNUM, 16);
        plant(
            "password-drawn",
            AROUND_PASSWORD[rng.below(AROUND_PASSWORD.len())],
            secret,
        );
        let secret = chosen(&mut rng);
        plant(
            "password-chosen",
            AROUND_PASSWORD[rng.below(AROUND_PASSWORD.len())],
            secret,
        );
        let secret = rng.draw(ALNUM, 14);
        plant(
            "url-drawn",
            AROUND_LOGIN[rng.below(AROUND_LOGIN.len())],
            secret,
        );
        let secret = chosen(&mut rng);
        plant(
            "url-chosen",
            AROUND_LOGIN[rng.below(AROUND_LOGIN.len() - 2)],
            secret.replace(['#', '?', '%'], "!"),
        );
        let around = [
            ("aws_secret_access_key = ", "\nregion = eu-west-1\n"),
            ("export AWS_SECRET_ACCESS_KEY=\"", "\"\n"),
            ("\"SecretAccessKey\": \"", "\","),
        ];
        plant("aws-secret", around[rng.below(3)], rng.draw(BASE64, 40));
        let around = [
            (
                "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=",
                ";EndpointSuffix=core.windows.net",
            ),
            (
                "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=",
                "\n",
            ),
        ];
        plant(
            "azure-account",
            around[rng.below(2)],
            format!("{}==", rng.draw(BASE64, 86)),
        );
        let around = (
            "https://shop.blob.core.windows.net/c?sv=2022-11-02&se=2025-01-01&sp=r&sig=",
            "&x=1",
        );
        plant(
            "azure-signature",
            around,
            format!("{}%3D", rng.draw(ALNUM, 43)),
        );
        let around = [
            ("twilio: sid=", "\n"),
            ("const client = twilio(\"", "\", secret);\n"),
        ];
        plant(
            "twilio",
            around[rng.below(2)],
            format!("S{}{}", "K", rng.draw(HEX, 32)),
        );
        let around = [
            ("DISCORD_TOKEN=", "\n"),
            (
                "const discord = require('discord.js');\nclient.login(\"",
                "\");\n",
            ),
        ];
        let secret = format!(
            "MT{}.{}.{}",
            rng.draw(ALNUM, 24),
            rng.draw(WORD, 6),
            rng.draw(ALNUM, 38)
        );
        plant("discord", around[rng.below(2)], secret);
        let path = format!(
            "T{}/B{}/{}",
            rng.draw(UPPER, 8),
            rng.draw(UPPER, 10),
            rng.draw(ALNUM, 24)
        );
        plant(
            "slack-hook",
            (
                &format!("post to https://hooks.{}.com/services/", "slack"),
                " now\n",
            ),
            path,
        );
        let before = format!(
            "https://{}.com/api/webhooks/{}/",
            "discord",
            rng.draw("123456789", 18)
        );
        plant("discord-hook", (&before, "\n"), rng.draw(ALNUM, 68));
        let label = rng.pick(&["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "]);
        for (form, newline, head, tail) in [
            ("pem", "\n", "", "\n"),
            ("pem-json", "\\n", "{\"private_key\": \"", "\", \"id\": 1}"),
            (
                "pem-json-twice",
                "\\\\n",
                "{\"a\":\"{\\\"private_key\\\": \\\"",
                "\\\"}\"}",
            ),
            ("pem-indented", "\n      ", "key: |\n      ", "\nnext: 1\n"),
        ] {
            let before = format!("{head}-----{} {label}PRIVATE KEY-----{newline}", "BEGIN");
            let after = format!("{newline}-----END {label}PRIVATE KEY-----{tail}");
            plant(form, (&before, &after), key_body(&mut rng, newline));
        }
        let before = format!("-----{} RSA PRIVATE KEY-----\n", "BEGIN");
        plant(
            "pem-cut-off",
            (&before, "\n[output truncated]\n"),
            key_body(&mut rng, "\n"),
        );
        let (before, after) = (
            format!("-----{} PGP PRIVATE KEY BLOCK-----\n\n", "BEGIN"),
            "\n-----END PGP PRIVATE KEY BLOCK-----\n",
        );
        plant("pgp", (&before, after), key_body(&mut rng, "\n"));
        let login = encode(format!("ana:{}", rng.draw(ALNUM, 12)).as_bytes());
        plant("basic", ("Authorization: Basic ", "\n"), login);
        let login = encode(format!("ana:{}", rng.draw(ALNUM, 12)).as_bytes());
        plant(
            "docker-auth",
            (
                "{\"auths\": {\"registry.example.com\": {\"auth\": \"",
                "\"}}}",
            ),
            login,
        );
    }
    plants
}

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - three.len()));
        for i in 0..4 {
            match i <= three.len() {
                true => out.push(char::from(
                    BASE64.as_bytes()[(bits >> (18 - 6 * i) & 63) as usize],
                )),
                false => out.push('='),
            }
        }
    }
    out
}

# A formula for Homebrew. scripts/package fills in what begins with a dollar sign.
class Ctxpack < Formula
  desc "Compacts the JSONL transcripts of coding agents, reversibly"
  homepage "$repository"
  version "$version"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "$repository/releases/download/v$version/ctxpack-v$version-aarch64-apple-darwin.tar.gz"
      sha256 "$aarch64_apple_darwin"
    end
    on_intel do
      url "$repository/releases/download/v$version/ctxpack-v$version-x86_64-apple-darwin.tar.gz"
      sha256 "$x86_64_apple_darwin"
    end
  end

  on_linux do
    on_arm do
      url "$repository/releases/download/v$version/ctxpack-v$version-aarch64-unknown-linux-musl.tar.gz"
      sha256 "$aarch64_unknown_linux_musl"
    end
    on_intel do
      url "$repository/releases/download/v$version/ctxpack-v$version-x86_64-unknown-linux-musl.tar.gz"
      sha256 "$x86_64_unknown_linux_musl"
    end
  end

  def install
    bin.install "ctxpack"
    bash_completion.install "completions/ctxpack.bash" => "ctxpack"
    zsh_completion.install "completions/_ctxpack"
    fish_completion.install "completions/ctxpack.fish"
    man1.install Dir["man/man1/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ctxpack --version")
    (testpath/"in.jsonl").write "{\"role\":\"user\",\"content\":\"hello\"}\n"
    system bin/"ctxpack", "compact", "in.jsonl"
    assert_equal (testpath/"in.jsonl").read, (testpath/"in.compact.jsonl").read
  end
end

// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_command.hpp"

#include <stdio.h>

#include <csignal>

#include "launcher/bootstrap/bootstrap_talk.hpp"
#include "tests/catch.hpp"
#include "tests/exchanger.hpp"
#include "tests/launcher/bootstrap/shell_dialogue.hpp"
#include "tests/skip.hpp"

using namespace train;
using namespace train::testing;
using Kind = BootstrapAnswer::Kind;
namespace fs = std::filesystem;

namespace {

// Stands in for the binary: greets, then echoes.
const std::string fake_binary =
    "#!/bin/sh\n"
    "if [ \"$1\" = --version ]; then echo 1; exit 0; fi\n"
    "echo \"agent $1 $2 $3 mask $(umask)\"\nexec cat\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// A host: the folders that the command tries, moved under a folder of the test.
struct FakeHost {
  TemporaryFolder root;
  fs::path home = root.path() / "home";
  fs::path var_tmp = root.path() / "v", tmp = root.path() / "t", shm = root.path() / "s";

  FakeHost() {
    for (const fs::path& folder : {home, var_tmp, tmp, shm}) fs::create_directories(folder);
    std::signal(SIGPIPE, SIG_IGN);
  }
  std::string command() const {
    std::string text = bootstrap_command({"n0nce", "b1", "task-0"}).value();
    text = replaced(text, " /var/tmp/", " @v/");
    text = replaced(text, " /tmp/", " " + tmp.string() + "/");
    text = replaced(text, " /dev/shm/", " " + shm.string() + "/");
    return replaced(text, " @v/", " " + var_tmp.string() + "/");
  }
  fs::path uid_folder(const fs::path& base) const {
    return base / ("train-" + std::to_string(::getuid()));
  }
  // What was left behind but the binary itself.
  int files_besides(const std::string& name) const {
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root.path()))
      if (entry.is_regular_file() && entry.path().filename() != name) ++count;
    return count;
  }
};

struct Outcome {
  int uploads = 0;
  BootstrapAnswer last;
  std::string agent;  // what the agent said, with "ping" echoed
};

std::string packed(const std::string& text, const fs::path& scratch) {
  write_file(scratch / "binary", text);
  const std::string bytes = output_of("gzip -c " + (scratch / "binary").string());
  fs::remove(scratch / "binary");
  return bytes;
}

// Speaks the launcher's part; `bytes` is what is uploaded, under the checksum of `truth`.
Outcome talk(ShellDialogue& shell, const std::string& truth, const std::string& bytes) {
  TemporaryFolder scratch;
  write_file(scratch.path() / "f", truth);
  const std::string sum = output_of("sha256sum < " + (scratch.path() / "f").string()).substr(0, 64);
  BootstrapReader reader("n0nce");
  Outcome outcome;
  while (true) {
    const std::string piece = shell.read();
    if (piece.empty()) break;
    reader.feed(piece);
    const auto answer = reader.next();
    if (!answer) break;
    if (!*answer) continue;
    outcome.last = **answer;
    if (outcome.last.kind == Kind::failed) break;
    if (outcome.last.kind == Kind::ready) {
      shell.write("ping");
      shell.finish_input();
      outcome.agent = reader.take_rest() + shell.read_all();
      break;
    }
    ++outcome.uploads;
    shell.write(upload_header(bytes.size(), truth.size(), sum) + bytes);
  }
  return outcome;
}

Outcome run(const FakeHost& host, const std::vector<std::string>& shell = {"/bin/sh", "-c"},
            const std::string& upload = fake_binary) {
  TemporaryFolder scratch;
  std::vector<std::string> argv = shell;
  argv.push_back(host.command());
  ShellDialogue dialogue(argv, host.home.string());
  return talk(dialogue, fake_binary, packed(upload, scratch.path()));
}

bool is_installed(const std::string& program) {
  return !output_of("command -v " + program).empty();
}

std::string mask() { return output_of("umask"); }

}  // namespace

TEST_CASE("every login shell starts the agent: an upload first, then from the cache") {
  for (const std::string shell : {"sh", "bash", "dash", "busybox", "zsh", "csh", "tcsh", "fish"}) {
    if (!is_installed(shell)) {
      note_skipped(shell + " is not installed");
      continue;
    }
    CAPTURE(shell);
    const FakeHost host;
    std::vector<std::string> argv = {shell, "-c"};
    if (shell == "busybox") argv.insert(argv.begin() + 1, "sh");
    const Outcome first = run(host, argv);
    CAPTURE(first.last.reason);
    CHECK(first.uploads == 1);
    CHECK(first.agent == "agent agent attach task-0 mask " + mask() + "ping");
    const Outcome second = run(host, argv);
    CHECK(second.uploads == 0);
    CHECK(second.agent == first.agent);
    CHECK(host.files_besides("train-b1") == 0);
    CHECK((fs::status(host.home / ".cache/train").permissions() & fs::perms::mask) ==
          fs::perms::owner_all);
  }
}

TEST_CASE("the script itself runs in every /bin/sh that hosts have") {
  for (const std::string shell : {"dash", "bash --posix", "busybox sh"}) {
    const std::string program = shell.substr(0, shell.find(' '));
    if (!is_installed(program)) {
      note_skipped(program + " is not installed");
      continue;
    }
    CAPTURE(shell);
    const FakeHost host;
    const std::string line = replaced(host.command(), "exec /bin/sh -c", "exec " + shell + " -c");
    for (const int uploads : {1, 0}) {
      ShellDialogue dialogue({"/bin/sh", "-c", line}, host.home.string());
      TemporaryFolder scratch;
      const Outcome outcome = talk(dialogue, fake_binary, packed(fake_binary, scratch.path()));
      CHECK(outcome.uploads == uploads);
      CHECK(outcome.agent == "agent agent attach task-0 mask " + mask() + "ping");
    }
  }
}

TEST_CASE("what rc files print before the marker is skipped") {
  const FakeHost host;
  ShellDialogue dialogue({"/bin/sh", "-c", "echo hello; printf half; " + host.command()},
                         host.home.string());
  TemporaryFolder scratch;
  const Outcome outcome = talk(dialogue, fake_binary, packed(fake_binary, scratch.path()));
  CHECK(outcome.agent.ends_with("ping"));
}

TEST_CASE("a home that takes no files costs nothing: the next place is asked") {
  const FakeHost host;
  write_file(host.home / ".cache", "a file, not a folder");
  const Outcome outcome = run(host);
  CHECK(outcome.uploads == 1);
  CHECK(outcome.agent.ends_with("ping"));
  CHECK(fs::exists(host.uid_folder(host.var_tmp) / "train-b1"));
  CHECK(run(host).uploads == 0);
}

TEST_CASE("a symbolic link in place of the folder is not followed") {
  const FakeHost host;
  const fs::path elsewhere = host.root.path() / "elsewhere";
  fs::create_directories(elsewhere);
  write_file(host.home / ".cache", "");
  fs::create_directory_symlink(elsewhere, host.uid_folder(host.var_tmp));
  const Outcome outcome = run(host);
  CHECK(outcome.agent.ends_with("ping"));
  CHECK(fs::is_empty(elsewhere));
  CHECK(fs::exists(host.uid_folder(host.tmp) / "train-b1"));
}

TEST_CASE("a folder of another user is not used") {
  if (::getuid() != 0) SKIP_CASE("only root can make a folder of another user");
  const FakeHost host;
  write_file(host.home / ".cache", "");
  fs::create_directories(host.uid_folder(host.var_tmp));
  write_file(host.uid_folder(host.var_tmp) / "train-b1", "#!/bin/sh\necho evil\n");
  fs::permissions(host.uid_folder(host.var_tmp) / "train-b1", fs::perms::owner_all);
  REQUIRE(::chown(host.uid_folder(host.var_tmp).c_str(), 12345, 12345) == 0);
  const Outcome outcome = run(host);
  CHECK(outcome.uploads == 1);
  CHECK(outcome.agent.starts_with("agent agent attach"));
}

TEST_CASE("an upload removes what others broke off, and never a file of the user") {
  const FakeHost host;
  const fs::path place = host.home / ".cache/train";
  const std::string left = ".train-" + std::string(40, 'a') + "." + std::string(32, '0');
  const auto old_file = [&](const std::string& name) {
    fs::create_directories((place / name).parent_path());
    write_file(place / name, "x");
    fs::last_write_time(place / name, fs::file_time_type::clock::now() - std::chrono::hours(72));
  };
  const std::vector<std::string> kept = {
      "runs/task-0/sub/.train-state.pt",
      "runs/task-0/" + left,
      ".train-state.pt",
      ".train-a.b",
      left + "0",
      ".train-" + std::string(40, 'g') + "." + std::string(32, '0'),
      "contexts/x"};
  for (const std::string& name : kept) old_file(name);
  old_file(left);
  old_file(left.substr(0, left.size() - 1) + "1/.train-inside");
  fs::create_symlink("nowhere", place / (left.substr(0, left.size() - 1) + "2"));
  CHECK(run(host).uploads == 1);
  CHECK_FALSE(fs::exists(place / left));
  for (const std::string& name : kept) {
    CAPTURE(name);
    CHECK(fs::exists(place / name));
  }
  CHECK(fs::exists(place / (left.substr(0, left.size() - 1) + "1/.train-inside")));
}

TEST_CASE("the agent's environment does not tell where the program was found") {
  const FakeHost host;
  ShellDialogue dialogue({"/bin/sh", "-c", "cd / && PWD=/ && export PWD && " + host.command()},
                         host.home.string());
  TemporaryFolder scratch;
  // As it was given: the shell of the stand-in finds out for itself where it is.
  const std::string asks =
      replaced(fake_binary, "exec cat",
               "tr \"\\000\" \"\\n\" < /proc/$$/environ | grep -E \"^(OLD)?PWD=\"; exec cat");
  const Outcome outcome = talk(dialogue, asks, packed(asks, scratch.path()));
  CHECK_THAT(outcome.agent, Catch::Matchers::EndsWith("\nPWD=/\nping"));
}

// The other user may do in these places what the sticky bit forbids in /tmp: the race needs no
// setting of the machine.
TEST_CASE("a folder that another user exchanges all the time never runs that user's program",
          "[once]") {
  if (::getuid() != 0) SKIP_CASE("only root can be two users");
  constexpr uid_t other = 12345;
  const FakeHost host;
  write_file(host.home / ".cache", "");  // the shared places are all there is
  fs::permissions(host.root.path(), fs::perms(0755));
  for (const fs::path& folder : {host.var_tmp, host.tmp, host.shm}) {
    fs::permissions(folder, fs::perms(0777));
    REQUIRE(::chown(folder.c_str(), other, other) == 0);
  }
  REQUIRE(run(host).uploads == 1);
  const fs::path folder = host.uid_folder(host.var_tmp), evil = host.var_tmp / "evil";
  const fs::path ran = host.tmp / "ran";
  fs::create_directories(evil);
  write_file(evil / "train-b1", "#!/bin/sh\necho evil >> " + ran.string() + "\nexec cat\n");
  fs::permissions(evil, fs::perms(0755));
  fs::permissions(evil / "train-b1", fs::perms(0755));
  for (const fs::path& path : {evil, evil / "train-b1"})
    REQUIRE(::chown(path.c_str(), other, other) == 0);
  int good = 0;
  {
    const Exchanger exchanger(folder, evil, other);
    for (int tries = 0; tries < 300; ++tries) {
      ShellDialogue dialogue({"/bin/sh", "-c", host.command()}, host.home.string());
      dialogue.finish_input();
      if (dialogue.read_all().find("agent attach") != std::string::npos) ++good;
    }
    CHECK(exchanger.is_at_work());
  }
  CHECK_FALSE(fs::exists(ran));
  CHECK(good > 0);
}

TEST_CASE("a folder of the user that is open to others is not used in a shared place") {
  const FakeHost host;
  write_file(host.home / ".cache", "");
  fs::create_directories(host.uid_folder(host.var_tmp));
  fs::permissions(host.uid_folder(host.var_tmp), fs::perms(0777));
  CHECK(run(host).agent.ends_with("ping"));
  CHECK(fs::is_empty(host.uid_folder(host.var_tmp)));
  CHECK(fs::exists(host.uid_folder(host.tmp) / "train-b1"));
}

TEST_CASE("a corrupted upload is asked for again elsewhere, then refused, and leaves nothing") {
  const FakeHost host;
  std::string upload = fake_binary;
  upload[upload.size() - 2] ^= 1;
  const Outcome outcome = run(host, {"/bin/sh", "-c"}, upload);
  CHECK(outcome.uploads == 4);
  CHECK(outcome.last.kind == Kind::failed);
  CHECK(outcome.last.reason.find("wrong checksum") != std::string::npos);
  CHECK(outcome.last.reason.find(host.home.string()) != std::string::npos);
  CHECK(host.files_besides("") == 0);
}

TEST_CASE("an upload that breaks off leaves nothing") {
  const FakeHost host;
  {
    ShellDialogue dialogue({"/bin/sh", "-c", host.command()}, host.home.string());
    REQUIRE_FALSE(dialogue.read().empty());
    dialogue.write("1000 2000 abc\nxxxx");
    dialogue.finish_input();
    CHECK(dialogue.read_all().find(":failed ") != std::string::npos);
  }
  CHECK(host.files_besides("") == 0);
}

TEST_CASE("a binary that does not run on the host is not kept") {
  const FakeHost host;
  const std::string broken =
      "#!/bin/sh\necho \"$0: libc.so.6: version \\`GLIBC_2.99' not found (required by $0)\" >&2\n"
      "exit 1\n";
  ShellDialogue dialogue({"/bin/sh", "-c", host.command()}, host.home.string());
  TemporaryFolder scratch;
  const Outcome outcome = talk(dialogue, broken, packed(broken, scratch.path()));
  CHECK(outcome.last.kind == Kind::failed);
  CHECK(outcome.uploads == 1);
  CHECK(outcome.last.reason.find(": version `GLIBC_2.99' not found (required by ") !=
        std::string::npos);
  CHECK(outcome.last.reason.find(" (it does not run there)") != std::string::npos);
  CHECK(host.files_besides("") == 0);
}

TEST_CASE("a binary whose loader the host does not have is not kept, and sent once") {
  const FakeHost host;
  const std::string foreign = "#!/lib/ld-musl-x86_64.so.1\n";
  ShellDialogue dialogue({"/bin/sh", "-c", host.command()}, host.home.string());
  TemporaryFolder scratch;
  const Outcome outcome = talk(dialogue, foreign, packed(foreign, scratch.path()));
  CHECK(outcome.last.kind == Kind::failed);
  CHECK(outcome.uploads == 1);
  CHECK(outcome.last.reason.find(": not found (it does not run there)") != std::string::npos);
  CHECK(host.files_besides("") == 0);
}

TEST_CASE("where nothing can be written, every place says why, and no byte is sent") {
  const FakeHost host;
  for (const fs::path& folder : {host.home, host.var_tmp, host.tmp, host.shm}) {
    fs::remove(folder);
    write_file(folder, "");
  }
  const Outcome outcome = run(host);
  CHECK(outcome.uploads == 0);
  REQUIRE(outcome.last.kind == Kind::failed);
  for (const fs::path& folder : {host.home, host.var_tmp, host.tmp, host.shm})
    CHECK(outcome.last.reason.find(folder.string() + "/") != std::string::npos);
}

TEST_CASE("noexec and full places are passed over") {
  if (output_of("unshare -m true 2> /dev/null && echo yes") != "yes\n")
    SKIP_CASE("mount namespaces are not permitted here");
  const FakeHost host;
  const auto mount = [](const fs::path& place, const std::string& options) {
    return "mount -t tmpfs -o " + options + " none " + place.string() + " && ";
  };
  const std::string line = "exec unshare -m /bin/sh -c \"" + mount(host.home, "noexec") +
                           mount(host.var_tmp, "size=4k") +
                           "exec \\\"\\$@\\\"\" sh /bin/sh -c \"$0\"";
  ShellDialogue dialogue({"/bin/sh", "-c", line, host.command()}, host.home.string());
  TemporaryFolder scratch;
  std::string big = fake_binary;  // does not fit into the second place, and does not compress away
  for (unsigned i = 0, x = 1; i < 40'000; ++i)
    big += "#" + std::to_string(x = x * 1664525 + 1) + "\n";
  const Outcome outcome = talk(dialogue, big, packed(big, scratch.path()));
  CAPTURE(outcome.last.reason);
  CHECK(outcome.uploads == 2);
  CHECK(outcome.agent.ends_with("ping"));
  CHECK(fs::exists(host.uid_folder(host.tmp) / "train-b1"));
}

TEST_CASE("the command is one line that every shell can quote") {
  const std::string command = bootstrap_command({"abc", "f00", "t-1"}).value();
  const std::size_t open = command.find('\''), close = command.rfind('\'');
  const std::string script = command.substr(open + 1, close - open - 1);
  CHECK(script.find_first_of("'!\n") == std::string::npos);
  CHECK(script.find("\\\\") == std::string::npos);
  CHECK(command.size() < 4000);
  CHECK(command.find(bootstrap_marker("abc")) == std::string::npos);
  for (const std::string bad : {"", "a b", "a'b", "$(x)", "a/b", "a;b"}) {
    CHECK_FALSE(bootstrap_command({"abc", "f00", bad}));
    CHECK_FALSE(bootstrap_command({"abc", "f00", "t-1", bad}));
  }
  CHECK(bootstrap_command({"abc", "f00", "t-1", "sweep"})
            ->ends_with("' train abc train-f00 t-1 sweep"));
}

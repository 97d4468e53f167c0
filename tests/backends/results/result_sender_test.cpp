// SPDX-License-Identifier: Apache-2.0
#include "backends/results/result_sender.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "backends/context/host_cache.hpp"
#include "backends/posix/files.hpp"
#include "backends/results/result_writer.hpp"
#include "tests/backends/context/tree.hpp"
#include "tests/support/waiting.hpp"

using namespace train;
using namespace get_talk;
using namespace std::chrono_literals;

namespace {

// A host that sends, on a thread, and the one who asks it.
class Talk {
 public:
  explicit Talk(std::vector<std::string> places = {}) {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ours_ = Descriptor(ends[0]);
    host_ = std::thread([fd = ends[1], places = std::move(places)] {
      const Descriptor theirs(fd);
      send_results(places, "abcdefgh-0", theirs.get(), theirs.get());
    });
  }
  ~Talk() {
    ours_.reset();
    host_.join();
  }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  void say(const GetMessage& message) {
    REQUIRE(write_whole(ours_.get(), encode_get(message)) == 0);
  }

  // The next frame, or nothing where none comes for so long on an idle machine, or the host has
  // gone.
  struct Heard {
    std::optional<GetMessage> message;
    std::string content;
  };
  std::optional<Heard> hear(std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    while (true) {
      const auto frame = decoder_.next();
      REQUIRE(frame);
      if (*frame) {
        arrived_ += get_frame_size((*frame)->payload);
        if ((*frame)->kind == FrameKind::output) return Heard{{}, std::string((*frame)->payload)};
        auto message = decode_get((*frame)->payload);
        REQUIRE(message);
        return Heard{std::move(*message), {}};
      }
      if (!testing::becomes_readable(ours_.get(), limit)) return std::nullopt;
      std::string bytes(64u << 10, '\0');
      const ssize_t count = read_some(ours_.get(), bytes.data(), bytes.size());
      if (count <= 0) return std::nullopt;
      decoder_.feed(std::string_view(bytes).substr(0, static_cast<std::size_t>(count)));
    }
  }

  void take() { say(Taken{arrived_}); }
  std::uint64_t arrived() const { return arrived_; }

  // Everything, in an order that is legal, into a sink. `meanwhile` is called after each frame.
  struct Answer {
    std::vector<Trouble> troubles;
    End end;
    std::optional<Found> found;
  };
  Answer answer(ResultSink& sink, const std::function<void(const Heard&)>& meanwhile = {}) {
    Answer all;
    GetOrder order;
    while (!order.is_over()) {
      auto heard = hear();
      REQUIRE(heard);
      if (heard->message) {
        REQUIRE(order.take(*heard->message));
        REQUIRE(sink.take(*heard->message));
        if (const auto* found = std::get_if<Found>(&*heard->message)) all.found = *found;
        if (const auto* end = std::get_if<End>(&*heard->message)) all.end = *end;
        if (const auto* trouble = std::get_if<Trouble>(&*heard->message))
          all.troubles.push_back(*trouble);
      } else {
        REQUIRE(order.take_content(heard->content.size()));
        REQUIRE(sink.take_content(heard->content));
      }
      if (meanwhile) meanwhile(*heard);
      if (!order.is_over()) take();
    }
    return all;
  }

 private:
  Descriptor ours_;
  std::thread host_;
  FrameDecoder decoder_{FrameSender::agent};
  std::uint64_t arrived_ = 0;
};

ResultWriter writer_into(const Tree& tree) { return {tree.path(), "out", IfThere::refuse, 0}; }

// What is refused, with the next step.
std::string refusal_of(const Start& start, const std::vector<std::string>& places = {}) {
  const Tree to;
  ResultWriter writer = writer_into(to);
  Talk talk(places);
  talk.say(start);
  const End end = talk.answer(writer).end;
  CHECK(to.names("").empty());
  return end.refusal + (end.hint.empty() ? "" : "; " + end.hint);
}

void make_socket(const Tree& tree, const std::string& name) {
  const Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  tree.at(name).copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

}  // namespace

TEST_CASE("a folder arrives as it is: names, links, modes, contents, holes") {
  std::mt19937 random(7);
  const Tree from, to;
  const std::string large = random_bytes(random, 3 * get_window / 2);
  from.write("here/large", large, 0640);
  from.write("here/a\nb/\xff \x1b[31m", random_bytes(random, longest_get_piece), 0755);
  from.write("here/a\nb/nothing", "");
  from.make("here/empty", 0700);
  from.write("here/holes", std::string(1u << 20, '\0') + "end");
  from.link("here/out of it", "/etc");
  from.link("here/broken", "nowhere");
  from.make("here/" + std::string(255, 'n'));
  from.write("here/.train-get.0123456789abcdef", "not whole");
  ResultWriter writer = writer_into(to);
  Talk talk;
  talk.say(Start{"here", from.path(), false});
  const auto answer = talk.answer(writer);
  CHECK(answer.end.refusal.empty());
  CHECK(answer.troubles.empty());
  REQUIRE(answer.found);
  CHECK(answer.found->path == from.at("here"));
  REQUIRE(writer.finish());
  CHECK(to.read("out/large") == large);
  CHECK_FALSE(to.has("out/.train-get.0123456789abcdef"));
  REQUIRE(::unlink(from.at("here/.train-get.0123456789abcdef").c_str()) == 0);
  // "out of it" leaves the folder, which no context may.
  REQUIRE(::readlink(to.at("out/out of it").c_str(), std::string(9, ' ').data(), 9) == 4);
  for (const Tree* tree : {&from, &to})
    REQUIRE(::unlink((tree->path() + (tree == &from ? "/here" : "/out") + "/out of it").c_str()) ==
            0);
  CHECK(archived(to.at("out")).context == archived(from.at("here")).context);
}

TEST_CASE("no more is sent than was asked for") {
  std::mt19937 random(8);
  const Tree from;
  from.write("large", random_bytes(random, 3 * get_window));
  Talk talk;
  talk.say(Start{from.at("large"), "", false});
  // The host stands still, for as long as nobody says that anything was taken.
  const auto hear_up_to = [&](std::uint64_t bytes) {
    while (talk.arrived() <= bytes) REQUIRE(talk.hear());
  };
  hear_up_to(get_window / 2);
  while (talk.hear(300ms)) continue;
  CHECK(talk.arrived() <= get_window + longest_get_piece + 1'000);
  const std::uint64_t before = talk.arrived();
  talk.say(Alive{});
  const auto alive = talk.hear();
  REQUIRE(alive);
  REQUIRE(alive->message);
  CHECK(std::holds_alternative<Alive>(*alive->message));
  talk.take();
  hear_up_to(before + get_window / 2);
}

TEST_CASE("a link that was asked for is followed, those in a folder are not") {
  const Tree from, to;
  from.write("real/file", "1");
  from.link("latest", "real");
  ResultWriter writer = writer_into(to);
  Talk talk;
  talk.say(Start{"latest", from.path(), false});
  CHECK(talk.answer(writer).troubles.empty());
  REQUIRE(writer.finish());
  CHECK(to.read("out/file") == "1");
}

TEST_CASE("what cannot travel is named, and all else comes") {
  const Tree from, to;
  from.write("here/file", "1");
  REQUIRE(::mkfifo(from.at("here/fifo").c_str(), 0600) == 0);
  make_socket(from, "here/socket");
  ResultWriter writer = writer_into(to);
  Talk talk;
  talk.say(Start{"here", from.path(), false});
  std::map<std::string, std::string> left_out;
  for (const Trouble& trouble : talk.answer(writer).troubles) {
    CHECK_FALSE(trouble.is_loss);
    left_out[trouble.path] = trouble.why;
  }
  CHECK(left_out == std::map<std::string, std::string>{{from.at("here/fifo"), "is a FIFO"},
                                                       {from.at("here/socket"), "is a socket"}});
  REQUIRE(writer.finish());
  CHECK(to.names("out") == std::vector<std::string>{"file"});
}

TEST_CASE("a file that changes while it is read is named and not kept; one that grows is") {
  struct Case {
    const char* what;
    std::function<void(const std::string& path)> change;
    std::string why;  ///< empty: it is kept
  };
  const std::vector<Case> cases{
      {"shorter", [](const std::string& path) { REQUIRE(::truncate(path.c_str(), 5) == 0); },
       "became shorter while it was read"},
      {"other bytes",
       [](const std::string& path) {
         const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
         REQUIRE(write_whole_at(file.get(), "other", 1) == 0);
         const timespec times[2] = {{1, 0}, {1, 0}};
         REQUIRE(::futimens(file.get(), times) == 0);
       },
       "changed while it was read"},
      {"longer",
       [](const std::string& path) {
         const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
         REQUIRE(write_whole(file.get(), "more") == 0);
       },
       ""}};
  std::mt19937 random(9);
  const std::string content = random_bytes(random, 2 * get_window);
  for (const Case& each : cases) {
    CAPTURE(each.what);
    const Tree from, to;
    from.write("here/file", content);
    ResultWriter writer = writer_into(to);
    Talk talk;
    talk.say(Start{"here", from.path(), false});
    bool has_changed = false;
    const auto answer = talk.answer(writer, [&](const Talk::Heard& heard) {
      if (heard.message || has_changed) return;
      has_changed = true;
      each.change(from.at("here/file"));
    });
    REQUIRE(writer.finish());
    CHECK(to.has("out/file") == each.why.empty());
    if (each.why.empty()) CHECK(to.read("out/file") == content);
    REQUIRE(answer.troubles.size() == (each.why.empty() ? 0 : 1));
    if (each.why.empty()) continue;
    CHECK(answer.troubles.front().path == from.at("here/file"));
    CHECK(answer.troubles.front().why == each.why);
    CHECK(answer.troubles.front().is_loss);
  }
}

TEST_CASE("a file of the kernel's, which has no length, does not arrive empty") {
  const Tree to;
  ResultWriter writer = writer_into(to);
  Talk talk;
  talk.say(Start{"/proc/self/status", "", false});
  const auto answer = talk.answer(writer);
  REQUIRE(answer.troubles.size() == 1);
  CHECK(answer.troubles.front().why == "has content and no length, as files of /proc");
  CHECK(answer.troubles.front().is_loss);
  REQUIRE(writer.finish());
  CHECK(to.names("").empty());
}

TEST_CASE("folders lie in each other to a bound, below which they are named") {
  const Tree from, to;
  std::string path = "here";
  for (int depth = 0; depth < deepest_get_folder + 1; ++depth) path += "/d";
  from.make(path);
  ResultWriter writer = writer_into(to);
  Talk talk;
  talk.say(Start{"here", from.path(), false});
  const auto answer = talk.answer(writer);
  REQUIRE(answer.troubles.size() == 1);
  CHECK(answer.troubles.front().path == from.at(path));
  CHECK(answer.troubles.front().is_loss);
  REQUIRE(writer.finish());
  CHECK(to.has("out" + path.substr(4, path.size() - 6)));
  CHECK_FALSE(to.has("out" + path.substr(4)));
}

TEST_CASE("what is not there, or is of no kind that travels, is refused with its whole path") {
  const Tree from;
  from.write("file", "1");
  REQUIRE(::mkfifo(from.at("fifo").c_str(), 0600) == 0);
  const std::string begins = "; a path without / at its front begins in '" + from.path() + "'";
  CHECK(refusal_of({"none/x", from.path(), false}) ==
        "'" + from.at("none/x") + "' is not there" + begins);
  CHECK(refusal_of({"file/x", from.path(), false}) ==
        "'" + from.at("file/x") + "' is not there" + begins);
  CHECK(refusal_of({from.at("none"), "/srv", true}) == "'" + from.at("none") + "' is not there");
  CHECK(refusal_of({"fifo", from.path(), false}) ==
        "'" + from.at("fifo") + "' is a FIFO: only files and folders can be sent");
  CHECK(refusal_of({"/dev/null", "", false}) ==
        "'/dev/null' is a device: only files and folders can be sent");
}

TEST_CASE("a context is looked for in the copy of its task, whose age goes on") {
  const Tree place, to;
  REQUIRE(HostCache::open(place.path()));
  place.write("runs/abcdefgh-0/sub/file", "1");
  place.age("runs/abcdefgh-0", std::chrono::hours(100));
  struct stat before {};
  REQUIRE(::stat(place.at("runs/abcdefgh-0").c_str(), &before) == 0);
  ResultWriter writer = writer_into(to);
  {
    Talk talk({"/nonexistent/train", place.path()});
    talk.say(Start{"file", "sub", true});
    const auto answer = talk.answer(writer);
    REQUIRE(answer.found);
    CHECK(answer.found->path == place.at("runs/abcdefgh-0/sub/file"));
  }
  REQUIRE(writer.finish());
  CHECK(to.read("out") == "1");
  struct stat after {};
  REQUIRE(::stat(place.at("runs/abcdefgh-0").c_str(), &after) == 0);
  CHECK(after.st_mtim.tv_sec == before.st_mtim.tv_sec);
  std::filesystem::remove_all(place.at("runs/abcdefgh-0"));
  CHECK(refusal_of({"file", "sub", true}, {place.path()}) ==
        "the ranks' copy of the context is not there any more; it stays for seven days after the "
        "end of its task, and goes at once where no rank has run");
}

TEST_CASE("a host that is told what no asker says goes") {
  const Tree from;
  from.write("file", "1");
  for (const GetMessage& wrong :
       std::vector<GetMessage>{Taken{1}, End{}, Found{Kind::file, "/x", 0, 0}, FolderEnd{}}) {
    Talk talk;
    talk.say(wrong);
    CHECK_FALSE(talk.hear());
  }
  Talk talk;
  talk.say(Start{from.at("file"), "", false});
  talk.say(Start{from.at("file"), "", false});
  int heard = 0;
  while (talk.hear()) ++heard;
  CHECK(heard <= 4);
}

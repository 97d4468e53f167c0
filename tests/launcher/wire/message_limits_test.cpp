// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/message_limits.hpp"

#include "config_schema/text/text.hpp"
#include "launcher/frames/frame.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

// What JSON makes the most of: a control character takes six bytes, what is no UTF-8 two each.
std::vector<std::string> growing_texts(std::size_t size) {
  return {std::string(size, 'x'), std::string(size, '\x01'), std::string(size, '\0'),
          std::string(size, '\xff'), std::string(size, '"')};
}

// Whether the launcher takes it.
bool arrives(const Message& message) {
  const std::string payload = encode_message(message);
  return payload.size() <= max_agent_control_payload && decode_message(payload) == message;
}

}  // namespace

TEST_CASE("whatever an agent has to say arrives") {
  for (const std::string& text : growing_texts(max_agent_control_payload + 1)) {
    // One list too long by one, of long texts, and one of very many short ones.
    message::Refused refused;
    refused.problems.assign(most_problems + 1,
                            {{}, {}, text.substr(0, 100'000), text.substr(0, 100'000)});
    message::Refused often_refused;
    often_refused.problems.assign(5'000, {{}, {}, text.substr(0, 100), text.substr(0, 100)});
    message::Finished finished;
    finished.survivors.assign(most_survivors + 1, {INT64_MAX, INT64_MAX, text.substr(0, 10'000)});
    const message::LeftBehind left{finished.survivors};
    message::RankEnded ended{0, 1, std::nullopt, false, false, Instant(0), text};
    ended.core = ended.parent_end = text;
    ended.memory_kill = message::MemoryKill{text, text};
    message::Finished often_survived;
    often_survived.survivors.assign(5'000, {INT64_MAX, INT64_MAX, text.substr(0, 10)});
    message::Ready ready{std::vector<int>(most_held_ports, 65'535), text.substr(0, 4'096)};
    for (int gpu = 0; gpu < static_cast<int>(most_gpus); ++gpu) {
      ready.gpus.cuda.push_back(gpu);
      ready.gpus.rocm.push_back(gpu);
    }
    for (const Message& message : std::vector<Message>{
             message::NoAgent{text}, message::Displaced{1, text},
             message::Hello{wire_version, text, text, INT64_MAX, {}, std::vector<int>(5'000, 1)},
             message::RanksSeen{true,
                                {},
                                std::vector<RankState>(300, {INT32_MAX, INT64_MAX, text, text, text,
                                                             INT32_MAX, text, text})},
             ready, refused, often_refused, message::RankNotStarted{0, text}, ended, finished, left,
             often_survived}) {
      const Message limited = within_limits(message);
      INFO(limited.index());
      CHECK(arrives(limited));
      CHECK(within_limits(limited) == limited);
    }
  }
}

TEST_CASE("what very many ranks use arrives") {
  message::Usage usage;
  constexpr std::uint64_t most = std::uint64_t{1} << 60;
  usage.ranks.assign(most_usages, {INT32_MAX, {milliseconds(most), most, most, most, most}});
  CHECK(arrives(usage));
  usage.ranks.push_back({});
  CHECK_FALSE(decode_message(encode_message(usage)));
}

TEST_CASE("the CPUs of a rank arrive, as many as a machine may have") {
  message::RankStarted started;
  started.cpus.assign(static_cast<std::size_t>(most_cpus), most_cpus - 1);
  CHECK(arrives(started));
  started.cpus.push_back(0);
  CHECK_FALSE(decode_message(encode_message(started)));
}

TEST_CASE("what is within the limits is sent as it is") {
  const std::vector<Message> messages = {
      message::Refused{{{{}, {}, "no python3", "install it"}}},
      message::RankEnded{0, 1, std::nullopt, false, false, Instant(0), std::string(60'000, 'x')},
      message::Finished{{{1, 2, "python3"}}, 3},
      message::Prepare{std::string(1 << 20, 'x'), {}},
  };
  for (const Message& message : messages) CHECK(within_limits(message) == message);
}

TEST_CASE("what is left out of a list is counted") {
  message::Refused refused;
  refused.problems.assign(most_problems + 1, {{}, {}, "x", {}});
  refused = std::get<message::Refused>(within_limits(refused));
  CHECK(refused.problems.size() == most_problems);
  CHECK(refused.problems.back().message == "and 2 more problems there");
  message::Finished finished;
  finished.survivors.resize(100'000);
  finished = std::get<message::Finished>(within_limits(finished));
  CHECK(finished.survivors.size() == most_survivors);
  CHECK(finished.more_survivors == 100'000 - static_cast<int>(most_survivors));
}

TEST_CASE("of a long text the begin and the end are kept, with whole characters") {
  for (const std::string& text : growing_texts(100'000)) {
    const std::string cut = cut_to_json("begin" + text + "end", 1'000);
    CHECK(cut.starts_with("begin"));
    CHECK(cut.ends_with("end"));
    CHECK(cut.find(" ... ") != cut.npos);
    CHECK(cut.size() >= 100);
  }
  std::string umlauts;
  for (int i = 0; i < 5'000; ++i) umlauts += "\xc3\xa4";
  for (const std::string& text : {umlauts, "x" + umlauts}) {
    const std::string cut = cut_to_json(text, 1'000);
    CHECK_FALSE(find_text_fault(cut));
    CHECK(cut.size() > 700);
  }
  CHECK(cut_to_json("\x01\x01", 14) == "\x01\x01");
}

TEST_CASE("more than an agent may say is refused") {
  const auto refused = [](const Message& message) {
    return !decode_message(encode_message(message));
  };
  const auto long_text = [](std::size_t most) { return std::string(most + 1, 'x'); };
  CHECK(refused(message::Hello{wire_version, long_text(longest_name), "", 1}));
  CHECK(refused(message::Hello{wire_version, "", long_text(longest_name), 1}));
  CHECK(
      refused(message::Hello{wire_version, "", "", 1, {}, std::vector<int>(most_attempts + 1, 1)}));
  CHECK(refused(message::Ready{{}, long_text(longest_path)}));
  CHECK(refused(message::Ready{std::vector<int>(most_held_ports + 1, 1), ""}));
  // A writer cuts these.
  for (const std::string name : {"MESSAGE", "HINT"}) {
    std::string payload = encode_message(message::Refused{{{{}, {}, "MESSAGE", "HINT"}}});
    CHECK(decode_message(payload));
    payload.replace(payload.find(name), name.size(), long_text(longest_words));
    CHECK_FALSE(decode_message(payload));
  }
  CHECK(refused(message::Refused{std::vector<Diagnostic>(most_problems + 1)}));
  CHECK(refused(message::RankNotStarted{0, long_text(longest_words)}));
  CHECK(refused(message::RankEnded{0, 1, std::nullopt, false, false, Instant(0),
                                   long_text(longest_error_file)}));
  message::RankEnded ended;
  ended.signal = 9;
  ended.core = long_text(longest_words);
  CHECK(refused(ended));
  ended.core.clear();
  ended.memory_kill = message::MemoryKill{long_text(longest_words), ""};
  CHECK(refused(ended));
  ended.memory_kill = message::MemoryKill{"", long_text(longest_words)};
  CHECK(refused(ended));
  CHECK(decode_message(encode_message(within_limits(ended))));
  CHECK(refused(message::Finished{std::vector<message::Survivor>(most_survivors + 1)}));
  CHECK(refused(message::Finished{{{1, 1, long_text(longest_command)}}}));
}

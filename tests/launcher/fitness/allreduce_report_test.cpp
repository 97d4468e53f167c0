// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/allreduce_report.hpp"

#include "tests/catch.hpp"
#include "tests/contains.hpp"

using namespace train;
using namespace std::chrono_literals;
using train::testing::contains;

namespace {

const std::string id_text(256, 'a');

// A rank that measures 8 and 64 bytes and has said all this.
AllReduceTalk talk_of(const std::vector<std::string>& lines, int rank = 0) {
  AllReduceTalk talk(rank, 64);
  for (const std::string& line : lines) {
    INFO(line);
    REQUIRE(talk.take(line));
  }
  return talk;
}

void check_refused(AllReduceTalk talk, const std::string& line) {
  INFO(line);
  const auto taken = talk.take(line);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().error_class == ErrorClass::host);
  CHECK(contains(render(taken.error()), "is not understood"));
  CHECK_FALSE(talk.is_done());
}

const std::string ready = "ready 13.0 2.28.9 NVIDIA H100 80GB HBM3";
const std::string copy = "copy 55000000000 52000000000";

AllReduceFacts facts_of(std::int64_t nanoseconds_of_8, int wrong = 0) {
  return {"13.0",
          "2.28.9",
          "NVIDIA H100",
          "IB",
          55'000'000'000,
          52'000'000'000,
          {{8, nanoseconds(nanoseconds_of_8), 0}, {64, 30us, wrong}}};
}

// Without its end of line.
std::string encoded(const AllReduceReport& report) {
  std::string text = encode_allreduce_report(report);
  REQUIRE(text.ends_with('\n'));
  text.pop_back();
  REQUIRE(text.find('\n') == text.npos);
  return text;
}

void check_malformed(const std::string& line, const char* why) {
  const auto read = decode_allreduce_report(line);
  REQUIRE_FALSE(read);
  CHECK(read.error().error_class == ErrorClass::host);
  CHECK(contains(render(read.error()), why));
}

std::string report_with(const std::string& times, const std::string& ranks) {
  return R"({"world":2,"times":[)" + times + R"(],"ranks":[)" + ranks + "]}";
}

std::string rank_with(const std::string& number) {
  return R"({"rank":)" + number +
         R"(,"cuda":"13.0","nccl":"2.28.9","gpu":"","network":"","to_device":1,"from_device":1,"wrong":0})";
}

}  // namespace

TEST_CASE("the bus bandwidth is that of nccl-tests") {
  // 1 GB in 10 ms among 8: 100 GB/s of the algorithm, of which 2 * 7 / 8 pass each link.
  CHECK(bus_bandwidth(1'000'000'000, 10ms, 8) == Approx(175e9));
  CHECK(bus_bandwidth(1'000'000'000, 10ms, 2) == Approx(100e9));
  CHECK(bus_bandwidth(1'000'000'000, 10ms, 1) == 0);
  CHECK(bus_bandwidth(8, 0ns, 2) == 0);
}

TEST_CASE("sizes are eightfold up to the largest") {
  CHECK(allreduce_sizes(7).empty());
  CHECK(allreduce_sizes(8) == std::vector<std::uint64_t>{8});
  CHECK(allreduce_sizes(600) == std::vector<std::uint64_t>{8, 64, 512});
  CHECK(allreduce_sizes(std::uint64_t{1} << 30).back() == std::uint64_t{1} << 30);
  CHECK(allreduce_sizes(UINT64_MAX) == allreduce_sizes(most_allreduce_bytes));
}

TEST_CASE("what a rank says is taken line by line") {
  AllReduceTalk talk = talk_of({});
  CHECK_FALSE(talk.is_ready());
  REQUIRE(talk.take(ready));
  CHECK(talk.is_ready());
  REQUIRE(talk.take(copy));
  CHECK(talk.id().empty());
  REQUIRE(talk.take("id " + id_text));
  CHECK(talk.id() == id_text);
  REQUIRE(talk.take("size 8 9000 0"));
  REQUIRE(talk.take("size 64 30000 3"));
  CHECK_FALSE(talk.is_done());
  REQUIRE(talk.take("done"));
  CHECK(talk.is_done());
  AllReduceFacts facts = facts_of(9'000, 3);
  facts.gpu = "NVIDIA H100 80GB HBM3";
  facts.network.clear();  // NCCL tells it elsewhere
  CHECK(talk.facts() == facts);
}

TEST_CASE("the trouble of a rank is an error in its words") {
  AllReduceTalk talk = talk_of({ready});
  const auto taken = talk.take("trouble cannot join the other ranks: unhandled system error");
  REQUIRE_FALSE(taken);
  CHECK(taken.error() ==
        make_error(ErrorClass::host, "cannot join the other ranks: unhandled system error"));
}

TEST_CASE("lines of libraries are passed over, so many of them") {
  AllReduceTalk talk = talk_of({"NCCL version 2.28.9+cuda13.0", "", ready, "readyness", copy});
  for (int i = 3; i < 1'000; ++i) REQUIRE(talk.take("noise"));
  CHECK_FALSE(talk.take("noise"));
}

TEST_CASE("a line that is not the next one, or is torn, is refused") {
  const AllReduceTalk fresh = talk_of({});
  for (const char* line :
       {"ready", "ready 13.0 2.28.9", "ready 13.0 2.28.9 ", "ready x 2.28.9 GPU",
        "ready 13.0 123456789.1234567 GPU", "copy 1 1", "size 8 1 0", "done", "trouble"})
    check_refused(fresh, line);
  check_refused(fresh, "ready 13.0 2.28.9 " + std::string(97, 'x'));
  check_refused(fresh, "id " + id_text);

  const AllReduceTalk is_ready = talk_of({ready});
  for (const std::string& line :
       {ready, std::string("copy 1"), std::string("copy 0 1"), std::string("copy 1 -1"),
        std::string("copy 1 1 1"), std::string("copy 1 99999999999999999999"),
        std::string("size 8 1 0")})
    check_refused(is_ready, line);

  const AllReduceTalk measures = talk_of({ready, copy});
  for (const char* line : {"size 64 1 0", "size 8 0 0", "size 8 1 4", "size 8 1", "size 8 1 0 0",
                           "size 8 1 0x", "size +8 1 0", "size 8 9223372036854775808 0", "done"})
    check_refused(measures, line);
  check_refused(measures, copy);
  check_refused(measures, "id " + id_text.substr(1));
  check_refused(measures, "id " + id_text.substr(1) + "A");
  check_refused(talk_of({ready, copy}, 1), "id " + id_text);  // that of rank 0 alone counts
  check_refused(talk_of({ready, copy, "id " + id_text}), "id " + id_text);

  const AllReduceTalk nearly = talk_of({ready, copy, "size 8 1 0", "size 64 1 0"});
  check_refused(nearly, "done x");
  check_refused(nearly, "size 512 1 0");
}

TEST_CASE("nothing is said after the end") {
  AllReduceTalk talk = talk_of({ready, copy, "size 8 1 0", "size 64 1 0", "done"});
  CHECK_FALSE(talk.take("done"));
  CHECK(talk.is_done());
}

TEST_CASE("of all ranks the slowest counts, and each wrong sum") {
  const auto all = report_of_all({report_of_rank(1, 3, facts_of(9'000, 1)),
                                  report_of_rank(0, 3, facts_of(12'000)),
                                  report_of_rank(2, 3, facts_of(8'000, 2))});
  REQUIRE(all);
  CHECK(all->world == 3);
  CHECK(all->times == std::vector<AllReduceTime>{{8, 12us, 0}, {64, 30us, 3}});
  REQUIRE(all->ranks.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    const AllReduceRank& one = all->ranks[static_cast<std::size_t>(rank)];
    CHECK(one.rank == rank);
    CHECK(one.wrong == rank);
    CHECK(one.to_device == 55'000'000'000);
  }
}

TEST_CASE("ranks that are missing, doubled or of another measurement make no report") {
  const auto refusal = [](const std::vector<AllReduceReport>& parts) {
    const auto all = report_of_all(parts);
    return all ? std::string() : render(all.error());
  };
  const AllReduceReport first = report_of_rank(0, 2, facts_of(9'000));
  const AllReduceReport second = report_of_rank(1, 2, facts_of(9'000));
  CHECK(contains(refusal({}), "no rank has reported"));
  CHECK(contains(refusal({first}), "rank 1 is missing"));
  CHECK(contains(refusal({second}), "rank 0 is missing"));
  CHECK(contains(refusal({first, first}), "rank 0 is there twice"));
  CHECK(contains(refusal({first, second, second}), "rank 1 is there twice"));
  CHECK(contains(refusal({first, report_of_rank(1, 3, facts_of(9'000))}), "different things"));
  AllReduceReport shorter = second;
  shorter.times.pop_back();
  CHECK(contains(refusal({first, shorter}), "different things"));
}

TEST_CASE("a report is read as it was written, with any name of a GPU") {
  AllReduceFacts facts = facts_of(9'000, 1);
  facts.gpu = "a \"\\\n\xff GPU";
  const auto report =
      report_of_all({report_of_rank(0, 2, facts), report_of_rank(1, 2, facts_of(10'000))});
  REQUIRE(report);
  const auto read = decode_allreduce_report(encoded(*report));
  REQUIRE(read);
  CHECK(*read == *report);
}

// Texts with their quotes.
TEST_CASE("the largest report fits into a line") {
  AllReduceReport report{most_allreduce_ranks, {}, {}};
  for (const std::uint64_t bytes : allreduce_sizes(most_allreduce_bytes))
    report.times.push_back({bytes, nanoseconds(INT64_MAX), 3 * most_allreduce_ranks});
  for (int rank = 0; rank < most_allreduce_ranks; ++rank)
    report.ranks.push_back({rank, std::string(16, '9'), std::string(16, '9'), std::string(94, 'x'),
                            std::string(46, 'y'), INT64_MAX, INT64_MAX, 39});
  const std::string line = encoded(report);
  CHECK(line.size() <= longest_allreduce_report);
  const auto read = decode_allreduce_report(line);
  REQUIRE(read);
  CHECK(*read == report);
}

TEST_CASE("what is no report, or none of a measurement, is refused") {
  check_malformed("", "is not understood");
  check_malformed("[]", "is not understood");
  check_malformed(R"({"world":0,"times":[],"ranks":[]})", "world");
  check_malformed(R"({"world":4097,"times":[],"ranks":[]})", "world");
  check_malformed(report_with(R"({"bytes":64,"ns":1,"wrong":0})", ""), "sizes");
  check_malformed(report_with(R"({"bytes":8,"ns":0,"wrong":0})", ""), "ns");
  check_malformed(report_with(R"({"bytes":8,"ns":1,"wrong":-1})", ""), "wrong");
  check_malformed(report_with("", rank_with("2")), "order");
  check_malformed(report_with("", rank_with("1") + "," + rank_with("0")), "order");
  check_malformed(report_with("", rank_with("1") + "," + rank_with("1")), "order");
  const std::string good = report_with("", rank_with("0") + "," + rank_with("1"));
  CHECK(decode_allreduce_report(good));
  std::string other = good;
  other.replace(other.find("13.0"), 4, "new");
  check_malformed(other, "'cuda' is no version");
}

TEST_CASE("groups of ranks come back as they were, each whole or with its troubles") {
  AllReduceGroup whole;
  whole.members = {1, 3};
  whole.report = *report_of_all(
      {report_of_rank(0, 2, facts_of(9'000)), report_of_rank(1, 2, facts_of(10'000))});
  const AllReduceGroup troubled{{0}, {}, {{0, "out of memory"}}};
  std::string line = encode_allreduce_groups({whole, troubled});
  REQUIRE(line.ends_with('\n'));
  line.pop_back();
  const auto read = decode_allreduce_groups(line, 4);
  REQUIRE(read);
  CHECK(*read == std::vector<AllReduceGroup>{whole, troubled});
  CHECK_FALSE(decode_allreduce_groups(line, 3));
}

TEST_CASE("groups that are none are refused") {
  const auto refused = [](const std::string& group, const char* why) {
    const auto read = decode_allreduce_groups(R"({"groups":[)" + group + "]}", 2);
    REQUIRE_FALSE(read);
    CHECK(contains(render(read.error()), why));
  };
  refused(R"({"members":[0]})", "troubles");
  refused(R"({"members":[0],"troubles":[]})", "nothing");
  refused(R"({"members":[0],"troubles":[{"place":1,"words":"x"}]})", "place");
  refused(R"({"members":[0,1,0],"troubles":[]})", "members");
  refused(R"({"members":[2],"troubles":[]})", "members");
  refused(R"({"members":[0],"report":{"world":1,"times":[],"ranks":[]}})", "of all its members");
}

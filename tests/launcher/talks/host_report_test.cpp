// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/host_report.hpp"

#include "config_schema/hosts/host_inventory.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

HostReport full_report() {
  HostReport report;
  report.lease_folder = "/run/lock/train";
  report.lease_identity = "boot:1:2";
  report.lease_trouble = "not \xff there";
  report.holders = {{"abcd", "a\xfe", "alice@head", 1'000, "alice", 5, true}, {""}};
  report.holders[0].leases = {{{LeaseKey::Kind::cuda, 3, "GPU-1"}, 2'500}};
  report.holders[1].leases = {{{LeaseKey::Kind::custom, 0, "ssd"}, 1}};
  report.untold_holders = 2;
  report.without_locks = {"abcd", "b\xfe"};
  report.squats = {"'/run/lock/train-lease-mutex' is a folder of bob"};
  report.uid = 1'000;
  report.gpus.cuda = {1, 0};
  report.gpus.hidden = 1;
  report.cuda_names = {"GPU-0", "GPU-1"};
  report.rocm_names = {""};
  report.gpu_type = "H200";
  report.cpus = 64;
  report.memory = std::uint64_t{1} << 40;
  report.available = 7;
  report.load_permil = 12'340;
  report.driver = "535.54.03";
  return report;
}

Result<HostReport> read(const std::string& line) {
  REQUIRE(line.find('\n') == line.size() - 1);
  return decode_host_report(std::string_view(line).substr(0, line.size() - 1));
}

}  // namespace

TEST_CASE("a host's report arrives as it was sent, in one line") {
  const auto back = read(encode_host_report(full_report()));
  REQUIRE(back);
  CHECK(*back == full_report());
}

TEST_CASE("a look says in one word where leases are, whatever the path is made of") {
  CHECK(look_word("") == "look");
  CHECK(look_word("/srv/a_b") == "in-_2Fsrv_2Fa_5Fb");
  std::string any = "/";
  for (int byte = 1; byte < 180; ++byte) any += static_cast<char>(byte);
  for (const std::string& path : {std::string(), std::string("/run/lock/train"), any}) {
    const std::string word = look_word(path);
    CHECK(word.size() <= 1'000);
    CHECK(word.find_first_not_of(
              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == word.npos);
    const auto back = lease_directory_of_look(word);
    REQUIRE(back);
    CHECK(*back == path);
  }
  for (const std::string word :
       {"", "loo", "in-", "in-_2", "in-_", "in-_G0", "in-_00", "in-a/b", "in-_+1"})
    CHECK_FALSE(lease_directory_of_look(word));
  CHECK_FALSE(lease_directory_of_look("in-" + std::string(longest_lease_directory + 1, 'a')));
}

TEST_CASE("all leases of a holder are told, and of very many holders the first") {
  HostReport report;
  report.holders.resize(1);
  for (int slot = 0; slot < 500; ++slot)
    report.holders[0].leases.push_back({{LeaseKey::Kind::place, slot, {}}, lease_units});
  auto back = read(encode_host_report(report));
  REQUIRE(back);
  CHECK(*back == report);
  report.holders.resize(5'000, report.holders[0]);
  const std::string line = encode_host_report(report);
  CHECK(line.size() <= longest_host_report);
  back = read(line);
  REQUIRE(back);
  CHECK(back->holders.size() < 5'000);
  CHECK(back->holders.size() + static_cast<std::size_t>(back->untold_holders) == 5'000);
}

TEST_CASE("what is no report of a host is refused") {
  std::string good = encode_host_report(full_report());
  good.pop_back();
  REQUIRE(decode_host_report(good));
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK_FALSE(decode_host_report(good.substr(0, length)));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t place = text.find(from);
    REQUIRE(place != text.npos);
    return text.replace(place, from.size(), to);
  };
  for (const std::string& bad :
       {with("\"cpus\":64", "\"cpus\":-1"), with("\"memory\":", "\"memory\":\"x\",\"m\":"),
        with("\"kind\":\"cuda\"", "\"kind\":\"soul\""), with("[1,0]", "[1,1]"),
        with("\"holders\":[", "\"holders\":[7,"), with("\"untold\":2", "\"untold\":2.5"),
        good + std::string(longest_host_report, ' ')}) {
    CAPTURE(bad.substr(0, 200));
    const auto refused = decode_host_report(bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().error_class == ErrorClass::host);
  }
}

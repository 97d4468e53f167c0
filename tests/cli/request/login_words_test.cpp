// SPDX-License-Identifier: Apache-2.0
#include "cli/request/login_words.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("hosts that can be logged in to only for a time are named, with what is to be done") {
  Logins logins({});
  logins.logged_in("files", LoginMeans::file);
  CHECK(describe_logins(logins, "abcdefgh").empty());
  logins.logged_in("n1", LoginMeans::agent);
  CHECK(describe_logins(logins, "abcdefgh").text() ==
        "host n1 is logged in to with ssh-agent: once it has ended, as at logout, a connection "
        "that is lost is not made again before another terminal lends its agent:\n"
        "  train task attach abcdefgh");
  logins.logged_in("n2", LoginMeans::agent);
  logins.logged_in("k", LoginMeans::kerberos);
  logins.logged_in("s", LoginMeans::security_key);
  const std::string words = describe_logins(logins, "abcdefgh").text();
  CHECK(words.starts_with("hosts n[1-2] are logged in to with ssh-agent: "));
  CHECK(words.find("\nhost k is logged in to with Kerberos: ") != words.npos);
  CHECK(words.find("\nhost s is logged in to with a security key: ") != words.npos);
}

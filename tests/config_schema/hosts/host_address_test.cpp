// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_address.hpp"

#include <string>

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("addresses of the machine itself are loopback, however they are written") {
  for (const char* address :
       {"127.0.0.1", "127.0.0.0", "127.255.255.255", "127.3.2.1", "127.1", "127.0.1",
        "127.16777215", "::1", "0:0:0:0:0:0:0:1", "0000:0000:0000:0000:0000:0000:0000:0001",
        "::0001", "0::1", "::0:0:0:0:0:0:1", "::1%lo", "::ffff:127.0.0.1", "::FFFF:127.9.9.9"}) {
    CAPTURE(address);
    CHECK(is_loopback(address));
    CHECK(is_localhost(address));
  }
}

TEST_CASE("names and addresses that only look like loopback are others") {
  for (const char* other : {"",
                            ".",
                            "127",
                            "127.",
                            "127..1",
                            "127.1.",
                            "127.1x",
                            "127.0.0.1.",
                            "127.0.0.256",
                            "127.0.0.0.1",
                            "127.16777216",
                            "127.99999999999999999999999",
                            "127.0.0.-1",
                            "127.0.0.1 ",
                            "127.node",
                            "127-0-0-1",
                            "1127.0.0.1",
                            "12.7.0.1",
                            "10.0.0.1",
                            "0.0.0.0",
                            "0127.0.0.1",
                            "::",
                            "::0",
                            ":1",
                            "1",
                            "0:1",
                            "::11",
                            "::1:1",
                            "1::1",
                            "fe80::1",
                            ":::1",
                            "2001:db8::1",
                            "0:0:0:0:0:0:1",
                            "0:0:0:0:0:0:0:0:1",
                            "::ffff:10.0.0.1",
                            "::ffff:::1",
                            "::ffff:",
                            "localhost.example",
                            "local",
                            "localhostx",
                            "localhost..",
                            "xlocalhost"}) {
    CAPTURE(other);
    CHECK_FALSE(is_loopback(other));
    CHECK_FALSE(is_localhost(other));
  }
}

TEST_CASE("localhost is this machine in any case of letters, and is no address") {
  for (const char* name : {"localhost", "LocalHost", "LOCALHOST.", "localhost."}) {
    CAPTURE(name);
    CHECK(is_localhost(name));
    CHECK_FALSE(is_loopback(name));
  }
}

TEST_CASE("before a port, an IPv6 address stands in brackets") {
  CHECK(in_brackets("10.0.0.1") == "10.0.0.1");
  CHECK(in_brackets("fd00::1") == "[fd00::1]");
  CHECK(endpoint_text("10.0.0.1", 29500) == "10.0.0.1:29500");
  CHECK(endpoint_text("fe80::1%eth0", 22) == "[fe80::1%eth0]:22");
}

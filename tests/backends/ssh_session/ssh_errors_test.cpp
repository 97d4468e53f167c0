// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/ssh_errors.hpp"

#include <errno.h>

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("errors on the way to a host say what happened and what to do") {
  CHECK(connect_error(ECONNREFUSED, "10.77.1.3:22").diagnostics[0].message ==
        "connection refused at 10.77.1.3:22");
  CHECK(greeting_error("h:22", "Exceeded MaxStartups\r\n", 0, 8).diagnostics[0].message ==
        "the SSH server at h:22 ended the connection before the login: it said 'Exceeded "
        "MaxStartups' (tried 8 times)");
  CHECK(login_error("me", {"~/.ssh/id_rsa (rsa-sha2-512)"}, {}).diagnostics[0].message ==
        "authentication failed for user me: tried ~/.ssh/id_rsa (rsa-sha2-512)");
}

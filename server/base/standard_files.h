// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rota::base {

// Called by main() as its first thing; a program that does has it done before its static objects
// are made, too. A descriptor 0, 1 or 2 that the caller left closed would be given to the next file
// or socket that is opened, and what is meant for people would be written into it, a database file
// for instance. Such a one is occupied so that reading from it, or writing to it, fails as on a
// closed one (EBADF).
void occupy_standard_files();

}  // namespace rota::base

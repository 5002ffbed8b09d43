// SPDX-License-Identifier: Apache-2.0
// ROTA_EXPORT marks what the shared libraries export; everything else is built with hidden
// visibility.
#pragma once

#define ROTA_EXPORT __attribute__((visibility("default")))

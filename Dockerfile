# SPDX-License-Identifier: Apache-2.0
# One image with rota-server, rota-worker and rota. docker-compose.yml shows how to run them.

FROM debian:12-slim AS build
WORKDIR /src
COPY tools/packages.txt tools/packages.txt
COPY tools/lib/install-packages tools/lib/install-packages
RUN tools/lib/install-packages build
COPY . .
RUN cmake --preset release -DBUILD_TESTING=OFF \
 && cmake --build build/release --target rota-server rota-worker rota-cli \
 && mkdir /out \
 && cp build/release/bin/rota-server build/release/bin/rota-worker build/release/bin/rota /out/ \
 && strip /out/*

FROM debian:12-slim
COPY tools/packages.txt /tmp/rota/tools/packages.txt
COPY tools/lib/install-packages /tmp/rota/tools/lib/install-packages
RUN /tmp/rota/tools/lib/install-packages runtime \
 && rm -rf /tmp/rota /var/lib/apt/lists/* \
 && useradd --system --uid 7500 --home-dir /var/lib/rota --shell /usr/sbin/nologin rota \
 && install -d -o rota -g rota -m 0750 /var/lib/rota
COPY LICENSE /usr/share/doc/rota/LICENSE
COPY --from=build /out/ /usr/local/bin/
USER rota
WORKDIR /var/lib/rota
ENV ROTA_DATA=/var/lib/rota
EXPOSE 7500
STOPSIGNAL SIGTERM
CMD ["rota-server"]

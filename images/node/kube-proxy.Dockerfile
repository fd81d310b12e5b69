# kube-proxy with the iptables that it calls, and the libraries that those and their extensions need.
FROM scratch AS root
ADD rootfs.tar /
RUN set -eu; \
    lib=/usr/lib/$(uname -m)-linux-gnu; \
    mkdir -p /out/usr/sbin /out/usr/bin /out/run "/out$lib"; \
    cp -a /usr/sbin/xtables-nft-multi /usr/sbin/xtables-legacy-multi /usr/sbin/conntrack /out/usr/sbin/; \
    for family in iptables ip6tables; do for tail in "" -save -restore; do \
        ln -s xtables-nft-multi /out/usr/sbin/$family$tail; \
        ln -s xtables-nft-multi /out/usr/sbin/$family-nft$tail; \
        ln -s xtables-legacy-multi /out/usr/sbin/$family-legacy$tail; \
    done; done; \
    cp -a "$lib/xtables" "/out$lib/"; \
    for library in $(ldd /out/usr/sbin/* "/out$lib"/xtables/*.so | awk '$3 ~ "^/" {print $3} $1 ~ "^/lib" {print $1}' | sort -u); do \
        mkdir -p "/out$(dirname "$library")"; cp -L "$library" "/out$library"; \
    done

FROM scratch
COPY --from=root /out/ /
COPY kube-proxy /usr/local/bin/
ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin

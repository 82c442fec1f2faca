//! The address table: which addresses are not on the public internet, and by which document.
//!
//! Invariants: an IPv6 address that carries an IPv4 address is judged by what it carries or refused
//! outright; IPv6 outside the allocated global unicast space is refused by default; a cloud metadata
//! address is reachable only by a grant for exactly that address, multicast by none.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::EgressRefusal;

/// A range that a person has allowed for one adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowedRange {
    /// The range, without host bits.
    #[serde(serialize_with = "write_cidr", deserialize_with = "read_cidr")]
    pub cidr: IpNet,
    /// The one port, 1–65535; every port when absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_port")]
    pub port: Option<u16>,
    /// Why, in the person's words or the command's.
    #[serde(default)]
    pub reason: String,
}

impl AllowedRange {
    fn covers(&self, address: IpAddr, port: u16) -> bool {
        self.cidr.contains(&address) && self.port.is_none_or(|only| only == port)
    }

    fn is_exact(&self) -> bool {
        self.cidr.prefix_len() == self.cidr.max_prefix_len()
    }
}

fn write_cidr<S: Serializer>(cidr: &IpNet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(cidr)
}

fn read_cidr<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IpNet, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |why: String| serde::de::Error::custom(format!("`{text}` is not a cidr: {why}"));
    let net: IpNet = text.parse().map_err(|_| wrong("write it like `10.0.0.0/8`".into()))?;
    // `10.1.2.3/8` grants sixteen million addresses where its author may have meant one.
    if net.trunc() != net {
        return Err(wrong(format!(
            "it has host bits; did you mean `{}` or `{}/{}`",
            net.trunc(),
            net.addr(),
            net.max_prefix_len()
        )));
    }
    Ok(net)
}

fn read_port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    match Option::<u16>::deserialize(deserializer)? {
        Some(0) => Err(serde::de::Error::custom("port 0 cannot be dialled")),
        port => Ok(port),
    }
}

/// What kind of address it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressClass {
    /// The kind in words.
    pub name: &'static str,
    /// The document that reserves it.
    pub source: &'static str,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.source)
    }
}

const METADATA: &str = "cloud metadata";
const MULTICAST: &str = "multicast";

type Row4 = (Ipv4Addr, u8, &'static str, &'static str);
type Row6 = (Ipv6Addr, u8, &'static str, &'static str);

/// IPv4, the more precise row first. RFC 6890 has the registry of most.
const TABLE_4: [Row4; 21] = [
    (Ipv4Addr::new(169, 254, 169, 254), 32, METADATA, "RFC 3927, vendor documentation"),
    (Ipv4Addr::new(169, 254, 170, 2), 32, METADATA, "RFC 3927, vendor documentation"),
    (Ipv4Addr::new(100, 100, 100, 200), 32, METADATA, "RFC 6598, vendor documentation"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, METADATA, "vendor documentation"),
    (Ipv4Addr::new(192, 0, 0, 192), 32, METADATA, "RFC 6890, vendor documentation"),
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network", "RFC 1122 §3.2.1.3"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private", "RFC 1918"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared between carriers", "RFC 6598"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback", "RFC 1122 §3.2.1.3"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local", "RFC 3927"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private", "RFC 1918"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments", "RFC 6890"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation", "RFC 5737"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay", "RFC 7526"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private", "RFC 1918"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking", "RFC 2544"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation", "RFC 5737"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation", "RFC 5737"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, MULTICAST, "RFC 5771"),
    (Ipv4Addr::new(255, 255, 255, 255), 32, "broadcast", "RFC 919"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved", "RFC 1112 §4"),
];

/// IPv6, the more precise row first.
const TABLE_6: [Row6; 21] = [
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), 128, METADATA, "RFC 4193, vendor documentation"),
    (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), 128, METADATA, "RFC 4193, vendor documentation"),
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified", "RFC 4291 §2.5.2"),
    (Ipv6Addr::LOCALHOST, 128, "loopback", "RFC 4291 §2.5.3"),
    (Ipv6Addr::UNSPECIFIED, 96, "IPv4-compatible", "RFC 4291 §2.5.5.1"),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, "IPv4-translated", "RFC 2765"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "local NAT64", "RFC 8215"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard only", "RFC 6666"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "Teredo", "RFC 4380"),
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48, "benchmarking", "RFC 5180"),
    (Ipv6Addr::new(0x2001, 0x10, 0, 0, 0, 0, 0, 0), 28, "ORCHID", "RFC 4843"),
    (Ipv6Addr::new(0x2001, 0x20, 0, 0, 0, 0, 0, 0), 28, "ORCHIDv2", "RFC 7343"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "protocol assignments", "RFC 2928"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation", "RFC 3849"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4", "RFC 3056, RFC 7526"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation", "RFC 9637"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "segment routing", "RFC 9602"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique local", "RFC 4193"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local", "RFC 4291 §2.5.6"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local", "RFC 3879"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, MULTICAST, "RFC 4291 §2.7"),
];

/// IPv6 addresses are public only within 2000::/3, the space that IANA assigns from.
const GLOBAL_6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const NOT_ASSIGNED: AddressClass = AddressClass { name: "not assigned", source: "RFC 4291 §2.4" };

/// Returns what kind of special address it is, or `None` for one on the public internet.
#[must_use]
pub fn classify(address: IpAddr) -> Option<AddressClass> {
    match carried(address) {
        IpAddr::V4(address) => {
            let bits = address.to_bits();
            let row = TABLE_4.iter().find(|(net, len, ..)| (bits ^ net.to_bits()).leading_zeros() >= u32::from(*len));
            row.map(|(_, _, name, source)| AddressClass { name, source })
        }
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let within = |net: Ipv6Addr, len: u8| (bits ^ net.to_bits()).leading_zeros() >= u32::from(len);
            let row = TABLE_6.iter().find(|(net, len, ..)| within(*net, *len));
            let special = row.map(|(_, _, name, source)| AddressClass { name, source });
            special.or((!within(GLOBAL_6.0, GLOBAL_6.1)).then_some(NOT_ASSIGNED))
        }
    }
}

/// The IPv4 address that an IPv4-mapped (RFC 4291 §2.5.5.2) or NAT64 (RFC 6052) address leads to.
fn carried(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else {
        return address;
    };
    if let Some(four) = six.to_ipv4_mapped() {
        return IpAddr::V4(four);
    }
    match six.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        _ => address,
    }
}

/// Decides whether `address` may be dialled at `port`, given what a person has allowed.
///
/// # Errors
/// [`EgressRefusal::Address`] when the address is not on the public internet and no grant covers it.
pub fn address_verdict(address: IpAddr, allowed: &[AllowedRange], port: u16) -> Result<(), EgressRefusal> {
    let Some(class) = classify(address) else {
        return Ok(());
    };
    // A mapped address reaches the IPv4 host, so it is that host's grant that counts; a NAT64 address
    // reaches it through a translator, which is another route and needs a grant of its own.
    let reached = match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    let granted = allowed.iter().any(|range| {
        range.covers(reached, port) && class.name != MULTICAST && (class.name != METADATA || range.is_exact())
    });
    if granted { Ok(()) } else { Err(EgressRefusal::Address { address, port, class }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(address: &str) -> Option<&'static str> {
        classify(address.parse().unwrap()).map(|class| class.name)
    }

    const SPECIAL: [(&str, &str); 61] = [
        ("0.0.0.0", "this network"),
        ("0.255.255.255", "this network"),
        ("10.0.0.0", "private"),
        ("10.255.255.255", "private"),
        ("100.64.0.0", "shared between carriers"),
        ("100.127.255.255", "shared between carriers"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.255", "loopback"),
        ("169.254.0.1", "link-local"),
        ("169.254.169.254", METADATA),
        ("169.254.170.2", METADATA),
        ("172.16.0.0", "private"),
        ("172.31.255.255", "private"),
        ("192.0.0.1", "protocol assignments"),
        ("192.0.0.192", METADATA),
        ("192.0.2.1", "documentation"),
        ("192.88.99.1", "6to4 relay"),
        ("192.168.0.0", "private"),
        ("192.168.255.255", "private"),
        ("198.18.0.0", "benchmarking"),
        ("198.19.255.255", "benchmarking"),
        ("198.51.100.9", "documentation"),
        ("203.0.113.9", "documentation"),
        ("224.0.0.1", MULTICAST),
        ("239.255.255.255", MULTICAST),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("168.63.129.16", METADATA),
        ("100.100.100.200", METADATA),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::7f00:1", "IPv4-compatible"),
        ("::808:808", "IPv4-compatible"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:0:127.0.0.1", "IPv4-translated"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a9fe:a9fe", METADATA),
        ("64:ff9b:1::1", "local NAT64"),
        ("100::1", "discard only"),
        ("2001::1", "Teredo"),
        ("2001:0:4136:e378::1", "Teredo"),
        ("2001:2::1", "benchmarking"),
        ("2001:1f::1", "ORCHID"),
        ("2001:2f::1", "ORCHIDv2"),
        ("2001:1ff::1", "protocol assignments"),
        ("2001:db8::1", "documentation"),
        ("2002:7f00:1::1", "6to4"),
        ("2002:808:808::1", "6to4"),
        ("3fff::1", "documentation"),
        ("5f00::1", "segment routing"),
        ("fc00::1", "unique local"),
        ("fd00:ec2::254", METADATA),
        ("fd20:ce::254", METADATA),
        ("fdff::1", "unique local"),
        ("fe80::1", "link-local"),
        ("febf::1", "link-local"),
        ("fec0::1", "site-local"),
        ("ff02::1", MULTICAST),
        ("4000::1", "not assigned"),
        ("200::1", "not assigned"),
    ];

    #[test]
    fn each_special_range_is_known_at_its_first_and_last_address_and_ends_there() {
        for (address, name) in SPECIAL {
            assert_eq!(class(address), Some(name), "{address}");
        }
        let public = [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.0.1",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2606:4700::1111",
            "2001:4860::8888",
            "2a00::1",
        ];
        for address in public {
            assert_eq!(class(address), None, "{address}");
        }
    }

    fn range(cidr: &str, port: Option<u16>) -> AllowedRange {
        AllowedRange { cidr: cidr.parse().unwrap(), port, reason: String::new() }
    }

    #[test]
    fn a_grant_opens_its_range_and_its_port_and_nothing_else() {
        let granted = [range("127.0.0.1/32", Some(8741)), range("10.1.0.0/16", None)];
        let reach = |address: &str, port| address_verdict(address.parse().unwrap(), &granted, port).is_ok();
        assert!(reach("127.0.0.1", 8741) && reach("::ffff:127.0.0.1", 8741));
        assert!(!reach("127.0.0.1", 8742) && !reach("127.0.0.2", 8741) && !reach("::1", 8741));
        assert!(reach("10.1.2.3", 1) && !reach("10.2.0.1", 1));
        assert!(!reach("64:ff9b::7f00:1", 8741), "a translator is another route");
        assert!(reach("8.8.8.8", 443));
    }

    #[test]
    fn metadata_needs_a_grant_of_its_own_and_multicast_has_none() {
        let all = [range("0.0.0.0/0", None), range("::/0", None)];
        let reach =
            |address: &str, granted: &[AllowedRange]| address_verdict(address.parse().unwrap(), granted, 80).is_ok();
        assert!(reach("192.168.1.1", &all) && reach("fe80::1", &all));
        assert!(!reach("169.254.169.254", &all) && !reach("fd00:ec2::254", &all) && !reach("224.0.0.1", &all));
        assert!(reach("169.254.169.254", &[range("169.254.169.254/32", None)]));
        assert!(!reach("224.0.0.1", &[range("224.0.0.1/32", None)]));
    }

    #[test]
    fn a_refusal_names_the_address_its_kind_and_the_document() {
        let refusal = address_verdict("10.0.0.5".parse().unwrap(), &[], 443).unwrap_err();
        assert_eq!(refusal.to_string(), "address `10.0.0.5` port 443 is refused: private (RFC 1918)");
        assert_eq!(refusal.rule(), "egress.address");
    }
}

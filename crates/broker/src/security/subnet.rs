//! Ranges of addresses in the hosts of ACLs, such as `10.0.0.0/8`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All addresses that begin with the same bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subnet {
    V4 { network: u32, mask: u32 },
    V6 { network: u128, mask: u128 },
}

impl Subnet {
    /// Reads an address and a number of bits with a slash between them.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        if bits.is_empty() || !bits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let bits: u32 = bits.parse().ok()?;
        if address.contains(':') {
            let address = u128::from(address.parse::<Ipv6Addr>().ok()?);
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(bits)?).unwrap_or(0);
            return Some(Self::V6 { network: address & mask, mask });
        }
        let address = u32::from(v4(address)?);
        let mask = u32::MAX.checked_shl(32_u32.checked_sub(bits)?).unwrap_or(0);
        Some(Self::V4 { network: address & mask, mask })
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::V4 { network, mask }, IpAddr::V4(address)) => u32::from(address) & mask == *network,
            (Self::V6 { network, mask }, IpAddr::V6(address)) => u128::from(address) & mask == *network,
            _ => false,
        }
    }
}

/// Four numbers of up to three digits; Kafka takes leading zeros.
fn v4(text: &str) -> Option<Ipv4Addr> {
    let mut parts = text.split('.').map(|part| {
        let is_number = (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u8>().ok().filter(|_| is_number)
    });
    let mut next = || parts.next().flatten();
    let address = Ipv4Addr::new(next()?, next()?, next()?, next()?);
    parts.next().is_none().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_the_range_of_their_first_bits() {
        let inside = |subnet: &str, address: &str| Subnet::parse(subnet).unwrap().contains(address.parse().unwrap());
        assert!(inside("10.0.0.0/8", "10.255.0.1"));
        assert!(!inside("10.0.0.0/8", "11.0.0.0"));
        assert!(inside("127.0.0.7/24", "127.0.0.255"));
        assert!(inside("127.0.0.1/32", "127.0.0.1"));
        assert!(!inside("127.0.0.1/32", "127.0.0.2"));
        assert!(inside("0.0.0.0/0", "9.9.9.9"));
        assert!(inside("2001:db8::/32", "2001:db8:ff::1"));
        assert!(!inside("2001:db8::/32", "2001:db9::1"));
        assert!(!inside("::/0", "127.0.0.1"));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["10.0.0.0", "10.0.0/8", "10.0.0.0/33", "10.0.0.256/8", "::/129", "a/8", "10.0.0.0/", "10.0.0.0/-1"]
        {
            assert_eq!(Subnet::parse(text), None, "{text}");
        }
    }
}

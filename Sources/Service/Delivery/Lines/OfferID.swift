/// Identifies an offer in the whole cluster and for all time. So a late acknowledgement never refers to another
/// offer.
package struct OfferID: Sendable, Hashable {
    /// The node that made the offer, more exactly one start of that node.
    package let origin: OfferOrigin
    /// The number, unique for the origin. Offers of one origin to the same device have growing numbers, in the order
    /// of acceptance. Numbers of different origins have no order.
    package let number: UInt64

    package init(origin: OfferOrigin, number: UInt64) {
        self.origin = origin
        self.number = number
    }
}

/// One start of one node. Each start gets a new origin.
package struct OfferOrigin: Sendable, Hashable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Returns a new, random origin. If a thousand nodes start a thousand times each, the probability that two have
    /// the same origin is 1 in 37 million.
    package static func random(using generator: inout some RandomNumberGenerator) -> OfferOrigin {
        OfferOrigin(rawValue: generator.next())
    }
}

/// Makes the identifiers of offers, for one of the parts of a process that make offers.
struct OfferNames {
    let origin: OfferOrigin
    private var last: UInt64
    private let parts: UInt64

    /// Creates a generator.
    /// - Parameters:
    ///   - part: the part's number, from 0. The parts of a process never generate the same number.
    ///   - parts: the number of parts.
    init(origin: OfferOrigin, part: Int = 0, of parts: Int = 1) {
        self.origin = origin
        last = UInt64(part)  // fits: a part's index
        self.parts = UInt64(parts)  // fits: a number of parts
    }

    /// Returns the next identifier. Its number is greater than all earlier ones.
    mutating func next() -> OfferID {
        last &+= parts
        return OfferID(origin: origin, number: last)
    }
}

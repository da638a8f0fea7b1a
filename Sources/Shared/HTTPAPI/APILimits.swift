import Notifications

/// The bounds that the APIs of both servers share.
package enum APILimits {
    /// The size of a request's body in bytes, if its operation says nothing else. The largest of the management API, a
    /// certificate signing request, has 2,000.
    package static let bodyBytes = 65_536

    /// The size of a text in PEM in bytes. A certificate with a key of RSA and its chain has some 10,000.
    package static let pemBytes = 65_536

    /// The number of items in an answer. A page has some 200 KB.
    package static let listItems = 1000

    /// How many levels of objects and lists a body may have: a rule of a rehearsal that matches the deepest payload.
    package static let documentDepth = Payload.maximumDepth + 4
}

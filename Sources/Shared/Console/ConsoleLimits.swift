/// The limits of a console.
package enum ConsoleLimits {
    /// How long a link to the console is good: time to copy it into a browser.
    static let linkLife = Duration.seconds(300)

    /// How many unused links there may be: more than anybody makes in five minutes.
    static let links = 16

    /// How long a browser stays signed in: a working day.
    static let sessionLife = Duration.seconds(12 * 3600)

    /// The maximum number of signed-in browsers. If another one signs in, the service signs out the one that signed in
    /// first.
    package static let sessions = 32
}

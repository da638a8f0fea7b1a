import CPostgres
import Connections

/// The address of a database and how to log in, as a URL that libpq can read
/// (`postgresql://user@host,host/database?option=value`).
///
/// The URL may contain a password. To show the location to a person, use ``description``.
package struct PostgresLocation: Sendable, Hashable, CustomStringConvertible {
    /// The URL for libpq, with the password if it has one.
    let url: String
    /// The values in the URL, by the names that libpq has for them.
    private let values: [String: String]

    /// - Throws: ``PostgresError/Kind/other`` if libpq cannot read the URL. The error contains neither the URL nor
    ///   libpq's message, because that repeats the URL.
    package init(_ url: String) throws(PostgresError) {
        // libpq reads a URL only up to the first NUL character, so refuse one.
        guard url.hasPrefix("postgresql://") || url.hasPrefix("postgres://"), !url.utf8.contains(0),
            let options = PQconninfoParse(url, nil)
        else {
            throw PostgresError(
                .other,
                "The PostgreSQL URL cannot be read: it has the form postgresql://USER@HOST:PORT/DATABASE, and special "
                    + "characters are percent-encoded.")
        }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        self.url = url
        self.values = values
    }

    /// Whether the URL contains a password for the server or for the client's TLS key.
    package var hasPassword: Bool { values["password"] != nil || values["sslpassword"] != nil }

    /// Whether data may cross a network in plain text: a host is another machine, and nothing demands encryption.
    /// libpq's default uses TLS if the server offers it, and goes on without it otherwise.
    /// - Parameter environment: the variables from which libpq takes what the URL does not set.
    package func mayBePlainText(_ environment: [String: String]) -> Bool {
        func value(_ option: String, _ variable: String) -> String { values[option] ?? environment[variable] ?? "" }
        guard !["require", "verify-ca", "verify-full"].contains(value("sslmode", "PGSSLMODE")),
            value("gssencmode", "PGGSSENCMODE") != "require"
        else { return false }
        let names = value("host", "PGHOST").split(separator: ",", omittingEmptySubsequences: false)
        let addresses = value("hostaddr", "PGHOSTADDR").split(separator: ",", omittingEmptySubsequences: false)
        return (0..<max(names.count, addresses.count)).contains { index in
            // libpq connects to the address, and to the name if there is none.
            let address = index < addresses.count ? addresses[index] : ""
            let host = address.isEmpty && index < names.count ? names[index] : address
            return !Self.isThisMachine(String(host))
        }
    }

    /// Whether the host is a Unix socket or this machine's own address. Without a host, libpq uses a Unix socket.
    private static func isThisMachine(_ host: String) -> Bool {
        host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host.isLoopbackHost
    }

    /// The values that must not appear in a message.
    var secrets: [String] { ["password", "sslpassword"].compactMap { values[$0] }.filter { !$0.isEmpty } }

    /// Whether the URL itself sets this option.
    func sets(_ option: String) -> Bool { values[option] != nil }

    /// The options that select each single host of several; empty if there is only one.
    var singleHosts: [[(name: String, value: String)]] {
        let lists = ["host", "hostaddr", "port"].compactMap { name -> (name: String, items: [Substring])? in
            values[name].map { (name, $0.split(separator: ",", omittingEmptySubsequences: false)) }
        }
        let count = lists.filter { $0.name != "port" }.map(\.items.count).max() ?? 1
        guard count > 1 else { return [] }
        return (0..<count).map { index in
            lists.compactMap { list in
                // One port may be for all hosts.
                let item = list.items.count == 1 ? list.items[0] : index < list.items.count ? list.items[index] : nil
                return item.map { (list.name, String($0)) }
            }
        }
    }

    /// The hosts, ports and the database, without the user and other options.
    package var description: String {
        let hosts = (values["host"] ?? values["hostaddr"] ?? "the local server").split(separator: ",")
        let ports = (values["port"] ?? "").split(separator: ",")
        let addresses = hosts.enumerated().map { index, host in
            let port = ports.count == 1 ? ports.first : (index < ports.count ? ports[index] : nil)
            return port.map { "\(host):\($0)" } ?? String(host)
        }
        return addresses.joined(separator: ",") + (values["dbname"].map { "/\($0)" } ?? "")
    }
}

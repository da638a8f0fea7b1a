import PrivateFiles
import Storage

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file that the server reads whole.
struct ServerFile {
    let path: String
    /// The number of bytes after which reading ends. A larger file has one byte more.
    let maximumBytes: Int

    /// Reads the file. If it is missing and `content` is given, makes it first.
    func read(orMake content: (() -> [UInt8])? = nil) throws(ProviderServerError) -> [UInt8] {
        do throws(StoreError) {
            if let content, try !Files.exists(path) { _ = try Files.make(path, content(), replacing: false) }
            // O_NONBLOCK: a named pipe must not stop the server.
            return try Files.read(try Files.open(path, O_RDONLY | O_NONBLOCK), upTo: maximumBytes + 1, of: path)
        } catch {
            throw ProviderServerError(.unusableFile, error.cause)
        }
    }

    func replace(with content: [UInt8]) throws(ProviderServerError) {
        do throws(StoreError) {
            _ = try Files.make(path, content, replacing: true)
        } catch {
            throw ProviderServerError(.unusableFile, error.cause)
        }
    }
}

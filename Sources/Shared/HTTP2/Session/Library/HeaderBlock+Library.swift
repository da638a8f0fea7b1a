#if Service
    import CNghttp2

    extension HeaderBlock {
        /// Calls `body` with the fields in libnghttp2's form. libnghttp2 copies the bytes of the arena, but not literals.
        func withLibraryFields<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: fields.count) { target in
                bytes.withUnsafeBufferPointer { arena in
                    for index in fields.indices {
                        target.initializeElement(at: index, to: fields[index].library(arena))
                    }
                    return body(target.baseAddress.map { UnsafePointer($0) }, fields.count)
                }
            }
        }
    }

    extension HeaderBlock.Field {
        fileprivate func library(_ arena: UnsafeBufferPointer<UInt8>) -> nghttp2_nv {
            var field = nghttp2_nv()
            var flags = indexing == .never ? NGHTTP2_NV_FLAG_NO_INDEX.rawValue : 0
            switch name {
            case .literal(let text):
                field.name = UnsafeMutablePointer(mutating: text.utf8Start)
                field.namelen = text.utf8CodeUnitCount
                flags |= NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue
            case .bytes(let offset, let count):
                field.name = UnsafeMutablePointer(mutating: arena.baseAddress.map { $0 + offset })
                field.namelen = count
            }
            switch value {
            case .literal(let text):
                field.value = UnsafeMutablePointer(mutating: text.utf8Start)
                field.valuelen = text.utf8CodeUnitCount
                flags |= NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
            case .bytes(let offset, let count):
                field.value = UnsafeMutablePointer(mutating: arena.baseAddress.map { $0 + offset })
                field.valuelen = count
            }
            field.flags = UInt8(truncatingIfNeeded: flags)
            return field
        }
    }
#endif

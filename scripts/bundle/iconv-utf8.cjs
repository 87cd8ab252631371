/**
 * Stands in for iconv-lite in the bundle: UTF-8 alone. The API takes JSON, which is UTF-8; the tables for every
 * other charset would be a third of the bundle. Anything else is answered as it is by the real one: unsupported.
 */
const { StringDecoder } = require('node:string_decoder')

const UTF8 = /^utf-?8$/i

exports.encodingExists = (name) => UTF8.test(name)

exports.getDecoder = (name) => {
  // The words that raw-body looks for, to answer 415.
  if (!UTF8.test(name)) throw new Error(`Encoding not recognized: '${name}'`)
  const decoder = new StringDecoder('utf8')
  return { write: (bytes) => decoder.write(bytes), end: () => decoder.end() }
}

exports.decode = (bytes, name) => {
  const decoder = exports.getDecoder(name)
  return decoder.write(bytes) + decoder.end()
}
